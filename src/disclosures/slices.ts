import { sql } from 'drizzle-orm'
import type { Sql } from 'postgres'
import { disclosures as d } from '../../db/schema.ts'
import { orm } from '../database/orm.ts'
import type { Period } from './question.ts'

/** The progress of a search. */
export interface SearchProgress {
  answers: number
  /** The time up to which the record was searched, as Postgres prints it in UTC. */
  upTo: string
}

/** A part of a period, from its first instant to before its last. */
interface Slice {
  from: string
  to: string
  /** The progress after this part. */
  progress: SearchProgress
}

/**
 * The parts of a period, one after the other, each with about `size` answers: a statement for each allows to show progress,
 * and blocks neither the purge nor a vacuum. Reads only the index by time.
 * @param size answers in a part; more if they have the same time
 */
export async function* slices(db: Sql, { from, to }: Period, size: number): AsyncGenerator<Slice> {
  let begin = from
  for (let answers = size; ; answers += size) {
    const [next] = await orm(db)
      .select({ at: sql<string>`${d.at}::text` })
      .from(d)
      .where(sql`${d.at} > ${begin}::text::timestamptz and ${d.at} < ${to}::text::timestamptz`)
      .orderBy(d.at)
      .offset(size)
      .limit(1)
    const end = next?.at ?? to
    yield { from: begin, to: end, progress: { answers, upTo: end } }
    if (!next) return
    begin = end
  }
}
