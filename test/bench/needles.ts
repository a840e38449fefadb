import type { Sql } from 'postgres'
import type { Scope } from './world.ts'

/** Something to look for with a filter. */
export interface Needle {
  /** What kind it is, and never the text itself: at --database it may be somebody's name. */
  name: string
  /** Query strings about others, of which the statement is the same. */
  warm: string[]
  /** A query string for each round. */
  queries: string[]
  /** How many records match, where it is the same in every round. */
  matches?: number
}

/** Questions of a kind before the one that counts: each connection of the service has prepared the statement. */
export const WARM = 4

/** Records that are looked at to find out what is rare and what is common. */
const LOOKED_AT = 5000

interface Seen {
  user: string
  seid: string
  proctor: string
}

/** What to look for: from the rarest to the commonest of what there is, by one value and by many. */
export async function needlesOf(sql: Sql, scope: Scope, rounds: number): Promise<Needle[]> {
  const seen = await look(sql, scope)
  const values = (pick: (one: Seen) => string[]) => [...new Set(seen.flatMap(pick))]
  const users = values(one => [one.user])
  const seids = values(one => [one.seid])
  const proctors = values(one => [one.proctor])
  const byProctor = commonestFirst(seen.map(one => new Set([one.proctor])))
  const busiest = byProctor[0] as string
  return [
    needle('user_ids, 1', users, 1, rounds, many('user_ids')),
    needle('user_ids, 100', users, 100, rounds, many('user_ids')),
    needle('seids, 1', seids, 1, rounds, many('seids')),
    needle('seids, 100', seids, 100, rounds, many('seids')),
    needle('proctor_ids, 1', proctors, 1, rounds, many('proctor_ids')),
    {
      ...needle('proctor_ids, the busiest', proctors, 1, rounds, many('proctor_ids')),
      queries: Array(rounds).fill(many('proctor_ids')([busiest])),
      matches: await count(sql, scope, sql`proctor_ids && ${[busiest]}::bigint[]`),
    },
  ]
}

/** Some records of the scope, anywhere in the data, the same ones each time. */
async function look(sql: Sql, { organizations, products }: Scope): Promise<Seen[]> {
  const seen = await sql<Seen[]>`
    select user_id as user, seid, proctor_ids[1] as proctor
    from export_records
    where organization_id = any (${organizations}::bigint[]) and product_id = any (${products}::bigint[])
      and seid is not null
    order by hashint8(id), id limit ${LOOKED_AT}`
  if (seen.length === 0) throw new Error('no record in the scope has a seid')
  return seen
}

/** Values of which `size` are asked for at once, others in every round and before. */
function needle(
  name: string,
  values: string[],
  size: number,
  rounds: number,
  queryOf: (values: string[]) => string,
): Needle {
  const queries = Array.from({ length: rounds + WARM }, (_, at) =>
    queryOf(repeated([...values.slice(at * size), ...values], size)),
  )
  return { name, warm: queries.slice(0, WARM), queries: queries.slice(WARM) }
}

const many = (name: string) => (values: string[]) =>
  values.map(value => `filter[${name}][]=${encodeURIComponent(value)}`).join('&')

/** The first of these values, from the start again where they are too few. */
const repeated = (values: string[], size: number) =>
  Array.from({ length: size }, (_, at) => values[at % values.length] as string)

/** All texts, by how many of the sets hold them. */
function commonestFirst(sets: Set<string>[]): string[] {
  const counts = new Map<string, number>()
  for (const text of sets.flatMap(set => [...set])) counts.set(text, (counts.get(text) ?? 0) + 1)
  return [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).map(([text]) => text)
}

async function count(sql: Sql, { organizations, products }: Scope, condition: ReturnType<Sql>) {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::integer as count from export_records
    where organization_id = any (${organizations}::bigint[]) and product_id = any (${products}::bigint[])
      and ${condition}`
  return row?.count ?? 0
}
