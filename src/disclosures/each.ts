import { eq, sql } from 'drizzle-orm'
import type { Sql } from 'postgres'
import { disclosures as d, integrationHistory as h } from '../../db/schema.ts'
import { isoOf, orm } from '../database/orm.ts'
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

const COLUMNS = {
  at: isoOf(d.at),
  client_id: h.clientId,
  name: h.name,
  purpose: h.purpose,
  request_id: d.requestId,
  address: sql<string | null>`host(${d.address})`,
  filters: sql<string[]>`coalesce(${d.filters}, '{}')`,
  key: d.key,
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
    const rows = await orm(db)
      .select(COLUMNS)
      .from(d)
      .innerJoin(h, eq(h.id, sql`${d.historyId}`))
      .where(conditionOf(question, history, slice))
      .orderBy(d.at, d.key)
    yield { rows, progress: slice.progress }
  }
}
