import { sql } from 'drizzle-orm'
import { disclosureState as state } from '../../db/schema.ts'
import { apiError, type DisclosedRecords, unavailable } from '../answers.ts'
import type { Filter } from '../contract.ts'
import { text } from '../database/statement.ts'

/** The column for isRecorded(), read in the snapshot of the records. */
export const recording = sql`(select ${state.isOn} from ${state})`

/**
 * Whether the answer to a client is to be recorded before it is sent, by the column `recording`. It is null if somebody has
 * deleted the one row of disclosure_state. Nobody knows then, and so nothing is sent.
 * @throws HttpError 503
 */
export function isRecorded(column: Buffer | null, clientId: string): boolean {
  if (column !== null) return text(column) === 't'
  const withheld =
    'disclosure_state is empty, its one row was deleted: insert into disclosure_state default values, then axport migrate --disclosures on'
  throw unavailable(apiError, 1, { clientId, withheld })
}

/** The ids that an answer shows, as arrays in the text format of Postgres. An educator may be in them several times. */
export interface ShownIds {
  assessments: string | null
  people: string | null
}

/** What is to be recorded of an answer: nothing if its statement returned no ids. */
export function disclosureOf(
  clientId: string,
  shown: ShownIds | undefined,
  filter: Filter,
): { disclosed?: DisclosedRecords } {
  if (!shown?.assessments || !shown.people) return {}
  const people = `{${[...new Set(shown.people.slice(1, -1).split(','))]}}`
  return { disclosed: { clientId, assessments: shown.assessments, people, filters: Object.keys(filter) } }
}
