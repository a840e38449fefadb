import type { Sql } from 'postgres'
import { type Disclosing, readDisclosing } from '../tables/disclosing.ts'

/** The extent of the record: answers from before its begin, or while it was off, are not in it. */
interface RecordState {
  /** undefined if the one row of disclosure_state was deleted. */
  disclosing: Disclosing | undefined
  /** The time of its oldest answer, ISO 8601 in UTC; null if it is empty. */
  begins: string | null
}

/** The extent of the record of disclosures. */
export async function readRecordState(db: Sql): Promise<RecordState> {
  const [row] = await db<{ begins: string | null }[]>`
    select to_char(min(at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as begins from disclosures`
  return { disclosing: await readDisclosing(db), begins: row?.begins ?? null }
}
