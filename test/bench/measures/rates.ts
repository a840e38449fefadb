import { LIST, TOKEN, tokenRequest } from '../../support/http.ts'
import { FIRST_PAGE } from '../paths.ts'
import { broadScope, firstIdIn } from '../scopes.ts'
import type { Figures, Measure } from '../turns.ts'

/** First pages, records by id and tokens a second, and the service's processor time for a page. */
export const rates: Measure = {
  name: 'rates',
  async prepare(side) {
    const scope = await broadScope(side.sql)
    const client = await side.serve(scope)
    const pages = { paths: [FIRST_PAGE] }
    const records = { paths: [`${LIST}/${await firstIdIn(side.sql, scope)}`] }
    const tokens = {
      method: 'POST' as const,
      paths: [TOKEN],
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(tokenRequest(await side.provision(scope))).toString(),
    }
    for (const job of [pages, records, tokens]) await client.warmUp(job)
    return async () => {
      const start = client.processorTime()
      const { requests, seconds } = await client.load({ ...pages, seconds: side.options.seconds })
      const end = client.processorTime()
      const figures: Figures = { 'first pages a second': requests / seconds }
      if (start !== undefined && end !== undefined)
        figures['processor time of the service for a page, µs'] = (end - start) / requests
      figures['records by id a second'] = await client.rate(records)
      figures['tokens issued a second'] = await client.rate(tokens)
      return figures
    }
  },
}
