import { sql } from 'drizzle-orm'
import type { Sql } from 'postgres'
import { disclosures as d } from '../../db/schema.ts'
import { isoOf, rowsOf } from '../database/orm.ts'
import { type DisclosureFilter, matching, requireKnownIntegration } from './disclosure-filter.ts'

/** An integration with its name and purpose at that time, and its disclosures. Times are ISO 8601 in UTC. */
export interface Recipient {
  client_id: string
  /** null for an integration that was made and deleted with SQL. */
  name: string | null
  purpose: string | null
  /** Answers, each of which may have shown several records. */
  times: number
  first: string
  last: string
}

/**
 * The integrations with answers that match a filter, the one with the latest answer first. An integration whose name or
 * purpose changed is listed once for each.
 * @throws Failure for a client id that no integration ever had
 */
export async function listRecipients(db: Sql, filter: DisclosureFilter): Promise<Recipient[]> {
  await requireKnownIntegration(db, filter)
  return await rowsOf<Recipient>(
    db,
    sql`
    select ${d.clientId} as client_id, name, purpose, count(*)::integer as times,
      ${isoOf(sql`min(${d.at})`)} as first, ${isoOf(sql`max(${d.at})`)} as last
    from ${matching(filter)}
    group by ${d.clientId}, name, purpose
    order by max(${d.at}) desc, client_id, name, purpose`,
  )
}
