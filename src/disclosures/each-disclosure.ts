import { sql } from 'drizzle-orm'
import type { Sql } from 'postgres'
import { disclosures as d } from '../../db/schema.ts'
import { isoOf, rowsInParts } from '../database/orm.ts'
import { type DisclosureFilter, matching, requireKnownIntegration } from './disclosure-filter.ts'

/** One recorded answer. */
export interface Disclosure {
  /** ISO 8601 in UTC. */
  at: string
  client_id: string
  /** Name and purpose at that time; null if they are not known. */
  name: string | null
  purpose: string | null
  /** The request id and the address are those of the request log. */
  request_id: string
  address: string | null
  /** The names of the filters in the request. */
  filters: string[]
  /** The primary key. */
  key: string
}

/** Answers that are in memory at a time. */
const AT_ONCE = 1000

/**
 * Every answer that matches a filter, the oldest first, some at a time.
 * @throws Failure for a client id that no integration ever had
 */
export async function* eachDisclosure(db: Sql, filter: DisclosureFilter): AsyncGenerator<Disclosure[]> {
  await requireKnownIntegration(db, filter)
  yield* rowsInParts<Disclosure>(
    db,
    sql`
    select ${isoOf(d.at)} as at, ${d.clientId} as client_id, name, purpose, ${d.requestId} as request_id,
      host(${d.address}) as address, coalesce(${d.filters}, '{}') as filters, ${d.key} as key
    from ${matching(filter)}
    order by ${d.at}, ${d.key}`,
    AT_ONCE,
  )
}
