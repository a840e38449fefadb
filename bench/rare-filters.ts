import type { Sql } from 'postgres'
import { listFilter } from './paths.ts'
import { inScope } from './scopes.ts'
import type { Scope } from './world.ts'

/** A filter with few matches, with values for each round. */
export interface RareFilter {
  /** The kind of the filter. It never contains a value: with --database, values may be data of persons. */
  name: string
  /** Query strings with other values, for the same statement. */
  warm: string[]
  /** One query string for each round. */
  queries: string[]
}

/**
 * The number of requests before the measured one, so that each connection of the service has prepared the statement.
 */
export const WARM = 4

/** The number of records from which values are taken. */
const SAMPLE = 5000

/** The filters: one value and several values of records in the scope, and the proctor with the most records. */
export async function rareFiltersOf(sql: Sql, scope: Scope, rounds: number): Promise<RareFilter[]> {
  const seen = await sql.unsafe<Record<'user' | 'seid' | 'proctor', string>[]>(
    `select user_id as user, seid, proctor_ids[1] as proctor from export_records
     where ${inScope(scope)} and seid is not null order by hashint8(id), id limit ${SAMPLE}`,
  )
  const [busiest] = await sql.unsafe<{ id: string }[]>(
    `select proctor_ids[1] as id from export_records where ${inScope(scope)} group by 1 order by count(*) desc, 1`,
  )
  if (seen.length === 0 || !busiest) throw new Error('no record in the scope has a seid')
  const rareFilter = (filter: string, column: keyof (typeof seen)[number], size: number): RareFilter => {
    const values = [...new Set(seen.map(row => row[column]))]
    // Every request has other values; if there are too few, they repeat from the first.
    const queries = Array.from({ length: rounds + WARM }, (_, nth) =>
      listFilter(
        filter,
        Array.from({ length: size }, (_, at) => values[(nth * size + at) % values.length] ?? ''),
      ),
    )
    return { name: `${filter}, ${size}`, warm: queries.slice(0, WARM), queries: queries.slice(WARM) }
  }
  const proctors = rareFilter('proctor_ids', 'proctor', 1)
  return [
    rareFilter('user_ids', 'user', 1),
    rareFilter('user_ids', 'user', 100),
    rareFilter('seids', 'seid', 1),
    rareFilter('seids', 'seid', 100),
    proctors,
    {
      ...proctors,
      name: 'proctor_ids, the busiest',
      queries: Array(rounds).fill(listFilter('proctor_ids', [busiest.id])),
    },
  ]
}
