import { sql } from 'drizzle-orm'
import { integrations, disclosureState as state } from '../../db/schema.ts'
import { apiError, type DisclosedRecords, unavailable } from '../answers.ts'
import type { Filter } from '../contract.ts'
import { type Runner, statement, text } from '../database/statement.ts'

/** An answer that is about to be sent. */
export interface PendingDisclosure extends DisclosedRecords {
  /** Two recordings under one key make one row: a statement may run twice. */
  key: string
  /** As the request log has them. */
  requestId: string
  address: string | undefined
}

/**
 * Records the disclosure of an answer. It is committed when this resolves: postgres.js 3.4.9 settles a statement at
 * ReadyForQuery, which the server sends after the commit, and not at the earlier CommandComplete.
 * @throws the error of the statement or the connection, and then it may be recorded or not
 */
export async function recordDisclosure(db: Runner, disclosure: PendingDisclosure): Promise<void> {
  const { key, requestId, address = null, clientId, assessments, people } = disclosure
  // Our own names, which need no quotes.
  const filters = disclosure.filters.length > 0 ? `{${disclosure.filters}}` : null
  await record(db, { key, requestId, address, clientId, assessments, people, filters })
}

/** Arrays are written as text. */
const record = statement<Record<string, unknown>, object>(
  sql`
  select record_disclosure(${sql.placeholder('key')}::uuid, ${sql.placeholder('requestId')}::text,
    ${sql.placeholder('address')}::text::inet, ${sql.placeholder('clientId')}::text,
    ${sql.placeholder('assessments')}::text::bigint[], ${sql.placeholder('people')}::text::bigint[],
    ${sql.placeholder('filters')}::text::text[])`,
)

/**
 * Probes whether disclosures can be recorded: records one, and takes it back. It is as large as that of a full page, because
 * a smaller one may still fit on a full disk. None is recorded without an integration.
 */
export async function tryRecording(db: Runner): Promise<void> {
  await recordAndTakeBack(db, {})
}

/** What a block has done when it raises an error is rolled back. */
const recordAndTakeBack = statement<Record<string, never>, never>(
  sql`
  do $$ begin
    perform record_disclosure(gen_random_uuid(), '', null, client_id, ids, ids, null)
    from ${integrations}, array_fill(0::bigint, array[100]) as ids limit 1;
    raise sqlstate 'AXPRT';
  exception when sqlstate 'AXPRT' then null;
  end $$`,
  false,
)

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
