import { walkPaths } from '../paths.ts'
import { broadScope, sizeOf } from '../scopes.ts'
import type { Measure } from '../turns.ts'

/** A full export by one client, page by page, from a service with empty page memory. */
export const walk: Measure = {
  name: 'walk',
  async prepare(side) {
    const scope = await broadScope(side.sql)
    const { count, bytes } = await sizeOf(side.sql, scope)
    const job = { paths: walkPaths(count), connections: 1 }
    return async () => {
      const outcome = await side.whileServing(scope, client => client.load(job))
      requireAll(outcome.bytes, count, bytes)
      return { [`full export of ${count.toLocaleString('en-US')} records by one client, s`]: outcome.seconds }
    }
  },
}

/** Throws unless every document came once: the bytes must be those of documents, commas and envelopes. */
function requireAll(received: number, count: number, bytes: number): void {
  const pages = Math.ceil(count / 100)
  const envelope = (offset: number) => `{"data":[],"meta":{"count":${count},"offset":${offset},"page":100}}`
  const envelopes = Array.from({ length: pages }, (_, at) => envelope(at * 100).length)
  const expected = bytes + (count - pages) + envelopes.reduce((sum, length) => sum + length, 0)
  if (received !== expected) throw new Error(`the export has ${received} bytes instead of ${expected}`)
}
