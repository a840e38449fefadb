import { FIRST_PAGE } from '../paths.ts'
import { broadScope } from '../scopes.ts'
import type { Measure } from '../turns.ts'

/** First pages a second, and the service's processor time for a page. */
export const firstPage: Measure = {
  name: 'first-page',
  async prepare(side) {
    const client = await side.serve(await broadScope(side.sql))
    await client.warmUp({ paths: [FIRST_PAGE] })
    return async () => {
      const start = client.processorTime()
      const { requests, seconds } = await client.load({ paths: [FIRST_PAGE], seconds: side.options.seconds })
      const end = client.processorTime()
      return {
        'first pages a second': requests / seconds,
        ...(start !== undefined &&
          end !== undefined && { 'processor time of the service for a page, µs': (end - start) / requests }),
      }
    }
  },
}
