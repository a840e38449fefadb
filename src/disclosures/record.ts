import { sql } from 'drizzle-orm'
import { integrations } from '../../db/schema.ts'
import type { DisclosedRecords } from '../answers.ts'
import { type Runner, statement } from '../database/statement.ts'

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
