import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { exportRecords as r, disclosureState as state } from '../../db/schema.ts'
import { apiError, type DisclosedRecords, unavailable } from '../answers.ts'
import type { Filter } from '../contract.ts'
import { type RawRow, type Runner, statement, text } from '../postgres/statement.ts'

/** An answer that is about to be sent. */
export interface Disclosure extends DisclosedRecords {
  /** Two recordings under one key make one row. */
  key: string
  /** As the request log has them. */
  requestId: string
  address: string | undefined
}

/**
 * Records the disclosures of some answers: all of them or none. They are committed when it resolves: postgres.js 3.4.9
 * settles a statement at ReadyForQuery, which the server sends after the commit, and not at the earlier CommandComplete.
 * @throws the error of the statement or the connection, and then they may be recorded or not
 */
export async function recordDisclosures(db: Runner, disclosures: Disclosure[]): Promise<void> {
  const each = (column: (disclosure: Disclosure) => string | null) => disclosures.map(column)
  await record(db, {
    keys: each(({ key }) => key),
    requests: each(({ requestId }) => requestId),
    addresses: each(({ address }) => address ?? null),
    clients: each(({ clientId }) => clientId),
    assessments: each(({ assessments }) => assessments),
    people: each(({ people }) => people),
    // Our own names, which need no quotes.
    filters: each(({ filters }) => (filters.length > 0 ? `{${filters}}` : null)),
  })
}

/** Ids and filters are arrays, written as text: arrays of different lengths make no array of arrays. */
const record = statement<Record<string, unknown>, object>(sql`
  select record_disclosure(key, request, address, client, assessments::bigint[], people::bigint[], filters::text[])
  from unnest(${sql.placeholder('keys')}::uuid[], ${sql.placeholder('requests')}::text[],
    ${sql.placeholder('addresses')}::inet[], ${sql.placeholder('clients')}::text[],
    ${sql.placeholder('assessments')}::text[], ${sql.placeholder('people')}::text[], ${sql.placeholder('filters')}::text[])
    as disclosed (key, request, address, client, assessments, people, filters)`)

/** The column for isRecorded(), read in the snapshot of the records. */
export const recording = sql`(select ${state.isOn} from ${state})`

/**
 * Whether the answer to a client is to be recorded before it is sent, by the column `recording`. It is null if somebody has
 * deleted the one row of disclosure_state. Nobody knows then, and so nothing is sent.
 * @throws HttpError 503
 */
export function isRecorded(column: Buffer | null, clientId: string): boolean {
  if (column !== null) return text(column) === 't'
  const withheld = 'disclosure_state is empty, its one row was deleted: axport doctor says what to do'
  throw unavailable(apiError, 1, { clientId, withheld })
}

/** Joins the columns `disclosed`: the assessments and the people that an answer shows, null if it shows none or none are recorded. */
export const disclosed = (assessments: SQL, people: SQL, one: SQLWrapper) => sql`left join lateral (
  select ${assessments}::text, ${people}::text
  from ${state} where ${state.isOn} and ${one} is not null
) as disclosed on true`

/** A column of a page whose rows have their educators. */
export const peopleOfPage = sql`,
    array_agg(user_id) filter (where (select ${state.isOn} from ${state})) as people`

/** The columns `disclosed` of a page by its `ids`; `hasPeople`: with peopleOfPage, otherwise its records are read. */
export function disclosedByPage(hasPeople: boolean): SQL {
  const [educator, source] = hasPeople
    ? [sql`id`, sql`unnest(people) as id`]
    : [r.userId, sql`${r} where ${r.id} = any (ids)`]
  return disclosed(sql`ids`, sql`(select array_agg(distinct ${educator}) from ${source})`, sql`ids`)
}

/** What is to be recorded of an answer: nothing if the columns of disclosed(), `shown`, are null. */
export function disclosureOf(
  clientId: string,
  shown: RawRow,
  filter: Filter,
): { disclosed?: DisclosedRecords } {
  const [assessments, people] = shown.map(text)
  if (assessments == null || people == null) return {}
  return { disclosed: { clientId, assessments, people, filters: Object.keys(filter) } }
}
