import type { Sql } from 'postgres'
import { conditionOf, historyOf, periodOf, type Question } from './question.ts'
import { type Looked, slices } from './slices.ts'

/** One answer that showed somebody. */
export interface Disclosure {
  /** ISO 8601 in UTC. */
  at: string
  client_id: string
  /** Both as they were then. */
  name: string
  purpose: string | null
  /** As in the request log, like the address. */
  request_id: string
  address: string | null
  /** The names of the filters that the request had. */
  filters: string[]
  /** By which the record knows the answer. */
  key: string
}

/** Some of the answers, and how far the record has been looked through. */
export interface Found {
  rows: Disclosure[]
  looked: Looked
}

/** Answers that are looked through by one statement: so many rows are in memory at most. */
const SLICE = 20_000

/**
 * Every answer that showed what a question asks for, the oldest first.
 * @throws Failure for a client id that was never one of an integration
 */
export async function* eachDisclosure(db: Sql, question: Question): AsyncGenerator<Found> {
  const history = await historyOf(db, question)
  for await (const slice of slices(db, await periodOf(db, question), SLICE)) {
    const rows = await db<Disclosure[]>`
      select to_char(d.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as at, h.client_id, h.name, h.purpose,
        d.request_id, host(d.address) as address, coalesce(d.filters, '{}') as filters, d.key
      from (select * from disclosures where ${conditionOf(db, question, history, slice)}) as d
      join integration_history h on h.id = d.history_id
      order by d.at, d.key`
    yield { rows: [...rows], looked: slice.looked }
  }
}
