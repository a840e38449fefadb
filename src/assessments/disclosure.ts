import { sql } from 'drizzle-orm'
import type { Shown } from '../answers.ts'
import { type Runner, statement } from '../postgres/statement.ts'

/** An answer that is about to be sent. */
export interface Disclosure extends Shown {
  /** Of this answer alone: recorded twice under one key, it is recorded once. */
  key: string
  /** As the request log has them. */
  requestId: string
  address: string | undefined
}

/**
 * Records whose records an answer shows to whom. Committed when it resolves: postgres.js 3.4.9 settles a statement at
 * ReadyForQuery, which the server sends behind the commit, and not at CommandComplete, which it sends before.
 * @throws the error of the statement or the connection, and then it may be recorded or not
 */
export async function recordDisclosure(db: Runner, disclosure: Disclosure): Promise<void> {
  const { key, requestId, address, clientId, assessments, people, filters } = disclosure
  await record(db, {
    key,
    request_id: requestId,
    address: address ?? null,
    client_id: clientId,
    assessments,
    people,
    filters: filters.length > 0 ? filters : null,
  })
}

const record = statement<Record<string, unknown>, object>(sql`
  select record_disclosure(${sql.placeholder('key')}::uuid, ${sql.placeholder('request_id')}::text,
    ${sql.placeholder('address')}::inet, ${sql.placeholder('client_id')}::text,
    ${sql.placeholder('assessments')}::bigint[], ${sql.placeholder('people')}::bigint[],
    ${sql.placeholder('filters')}::text[])`)
