import { type SQL, sql } from 'drizzle-orm'
import type { Sql } from 'postgres'
import { disclosures as d } from '../../db/schema.ts'
import { isoOf, orm, rowsOf } from '../database/orm.ts'
import { onlyRow } from '../database/statement.ts'
import { type DisclosureState, readDisclosureState } from '../tables/disclosure-state.ts'

/** What the record of disclosures covers: answers from before its begin, or while it was off, are not in it. */
interface Coverage {
  /** undefined if the one row of disclosure_state was deleted. */
  state: DisclosureState | undefined
  /** The time of its oldest answer, ISO 8601 in UTC; null if it is empty. */
  begins: string | null
  /** The time of its newest answer, if that is later than now by the clock of the database: ISO 8601 in UTC, or null. */
  ahead: string | null
}

/** What the record of disclosures covers. */
export async function readCoverage(db: Sql): Promise<Coverage> {
  const { begins, ahead } = onlyRow(
    await orm(db)
      .select({
        begins: isoOf(sql`min(${d.at})`) as SQL<string | null>,
        ahead: isoOf(sql`case when max(${d.at}) > clock_timestamp() then max(${d.at}) end`) as SQL<
          string | null
        >,
      })
      .from(d),
  )
  return { state: await readDisclosureState(db), begins, ahead }
}

/**
 * Until when answers that have been read by now may still be recorded, by the clock of the database: ISO 8601 in UTC. An
 * answer is sent only if it is recorded by the deadline of its request.
 * @param requestMs the time of a request, from its arrival to its deadline
 */
export async function recordedUntil(db: Sql, requestMs: number): Promise<string> {
  // Rounded up to the next second.
  const until = sql`(clock_timestamp() + make_interval(secs => ${requestMs / 1000 + 1}))`
  return onlyRow(await rowsOf<{ until: string }>(db, sql`select ${isoOf(until)} as until`)).until
}

/** For people: that answers of the record are later than now, by readCoverage(). */
export function describeAhead(ahead: string): string {
  return `the newest answer is of ${ahead}, which is later than the clock of the database: the clock was set back, or another server had another one; such answers are included`
}
