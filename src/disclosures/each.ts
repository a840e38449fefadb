import { sql } from 'drizzle-orm'
import type { Sql } from 'postgres'
import { rowsOf } from '../database/orm.ts'
import { conditionOf, historyOf, periodOf, type Question } from './question.ts'
import { type SearchProgress, slices } from './slices.ts'

/** One recorded answer. */
export interface Disclosure {
  /** ISO 8601 in UTC. */
  at: string
  client_id: string
  /** Name and purpose at that time. */
  name: string
  purpose: string | null
  /** The request id and the address are those of the request log. */
  request_id: string
  address: string | null
  /** The names of the filters in the request. */
  filters: string[]
  /** The primary key. */
  key: string
}

/** Some of the answers, and the progress of the search. */
export interface Found {
  rows: Disclosure[]
  progress: SearchProgress
}

/** Answers that one statement searches: the most rows in memory. */
const SLICE = 20_000

/**
 * Every answer that matches a question, the oldest first.
 * @throws Failure for a client id that no integration ever had
 */
export async function* eachDisclosure(db: Sql, question: Question): AsyncGenerator<Found> {
  const history = await historyOf(db, question)
  for await (const slice of slices(db, await periodOf(db, question), SLICE)) {
    const rows = await rowsOf<Disclosure>(
      db,
      sql`
      select to_char(d.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as at, h.client_id, h.name, h.purpose,
        d.request_id, host(d.address) as address, coalesce(d.filters, '{}') as filters, d.key
      from (select * from disclosures where ${conditionOf(question, history, slice)}) as d
      join integration_history h on h.id = d.history_id
      order by d.at, d.key`,
    )
    yield { rows: [...rows], progress: slice.progress }
  }
}
