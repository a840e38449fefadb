import type { Sql } from 'postgres'
import type { Period } from './question.ts'

/** How far the record has been looked through. */
export interface Looked {
  answers: number
  /** The time up to which that is, as Postgres prints it in UTC. */
  upTo: string
}

/** A part of a period, from its first instant to before its last. */
export interface Slice {
  from: string
  to: string
  /** What has been looked through when this part is. */
  looked: Looked
}

/**
 * The parts of a period, one after the other, each with about so many answers: a statement for each tells how far it is,
 * and keeps neither the purge nor a vacuum waiting. The index by time alone is read here.
 * @param size answers in a part; more where they have one time
 */
export async function* slices(db: Sql, { from, to }: Period, size: number): AsyncGenerator<Slice> {
  let begin = from
  for (let answers = size; ; answers += size) {
    const [next] = await db<{ at: string }[]>`
      select at::text from disclosures
      where at > ${begin}::text::timestamptz and at < ${to}::text::timestamptz
      order by disclosures.at offset ${size} limit 1`
    const end = next?.at ?? to
    yield { from: begin, to: end, looked: { answers, upTo: end } }
    if (!next) return
    begin = end
  }
}
