import type { Sql } from 'postgres'
import { type Disclosing, readDisclosing } from '../postgres/disclosing.ts'

/** What an answer of the record is worth: nobody can know of what was sent before it began, or while it was off. */
export interface RecordState {
  /** undefined where the one row that says so was deleted. */
  disclosing: Disclosing | undefined
  /** When the oldest answer was sent that it has, ISO 8601 in UTC; null while it has none. */
  begins: string | null
}

/** How much the record of disclosures can know. */
export async function readRecordState(db: Sql): Promise<RecordState> {
  const [row] = await db<{ begins: string | null }[]>`
    select to_char(min(at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as begins from disclosures`
  return { disclosing: await readDisclosing(db), begins: row?.begins ?? null }
}
