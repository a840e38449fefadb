import type { Sql } from 'postgres'
import { listFilter } from './paths.ts'
import { inScope } from './scopes.ts'
import type { Scope } from './world.ts'

/** Something to look for with a filter. */
export interface Needle {
  /** What kind it is, and never the text itself: at --database it may be somebody's name. */
  name: string
  /** Query strings about others, of which the statement is the same. */
  warm: string[]
  /** A query string for each round. */
  queries: string[]
}

/** Questions of a kind before the one that counts: each connection of the service has prepared the statement. */
export const WARM = 4

/** Records that are looked at to find values. */
const LOOKED_AT = 5000

/** What to look for: values that some records of the scope have, one and many, and the busiest proctor. */
export async function needlesOf(sql: Sql, scope: Scope, rounds: number): Promise<Needle[]> {
  const seen = await sql.unsafe<Record<'user' | 'seid' | 'proctor', string>[]>(
    `select user_id as user, seid, proctor_ids[1] as proctor from export_records
     where ${inScope(scope)} and seid is not null order by hashint8(id), id limit ${LOOKED_AT}`,
  )
  const [busiest] = await sql.unsafe<{ id: string }[]>(
    `select proctor_ids[1] as id from export_records where ${inScope(scope)} group by 1 order by count(*) desc, 1`,
  )
  if (seen.length === 0 || !busiest) throw new Error('no record in the scope has a seid')
  const needle = (filter: string, column: keyof (typeof seen)[number], size: number): Needle => {
    const values = [...new Set(seen.map(row => row[column]))]
    // Others in every round and before, from the start again where they are too few.
    const queries = Array.from({ length: rounds + WARM }, (_, nth) =>
      listFilter(
        filter,
        Array.from({ length: size }, (_, at) => values[(nth * size + at) % values.length] ?? ''),
      ),
    )
    return { name: `${filter}, ${size}`, warm: queries.slice(0, WARM), queries: queries.slice(WARM) }
  }
  const proctors = needle('proctor_ids', 'proctor', 1)
  return [
    needle('user_ids', 'user', 1),
    needle('user_ids', 'user', 100),
    needle('seids', 'seid', 1),
    needle('seids', 'seid', 100),
    proctors,
    {
      ...proctors,
      name: 'proctor_ids, the busiest',
      queries: Array(rounds).fill(listFilter('proctor_ids', [busiest.id])),
    },
  ]
}
