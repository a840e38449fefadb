import type { Sql } from 'postgres'
import { type Finding, ok, skipped, wrong } from './finding.ts'
import { unreadable } from './reading.ts'

/** Rows of a table that are compared where not all of them are. */
const SAMPLE = 1000

/** A table of the read model, the view that renders it, and the source table with an id for each row. */
interface Part {
  table: string
  id: string
  source: string
  /** The rows as a report calls them, and one of the source. */
  rows: string
  one: string
}

const PARTS: Part[] = [
  { table: 'export_records', id: 'id', source: 'assessments', rows: 'records', one: 'assessment' },
  { table: 'export_people', id: 'user_id', source: 'users', rows: 'names of people', one: 'user' },
  {
    table: 'export_products',
    id: 'product_id',
    source: 'products',
    rows: 'names of products',
    one: 'product',
  },
]

/**
 * Whether the read model equals what the source tables render to. `full` compares every row, otherwise
 * a random sample of the source and of the read model, which is all of them where there are not more.
 */
export async function checkReadModel(db: Sql, full: boolean): Promise<Finding> {
  const tables = PARTS.flatMap(({ table, source }) => [source, table, `${table}_rendered`])
  if ((await unreadable(db, ...tables)).length > 0)
    return skipped('read model', 'this role cannot read the source tables: run doctor as their owner')
  const compared: string[] = []
  for (const part of PARTS) {
    const { rows, different, example } = await compare(db, part, full)
    const what = full ? `all ${rows} ${part.rows}` : `${rows} ${part.rows} sampled`
    const differ = different === 1 ? 'differs from its source' : 'differ from their source'
    if (different > 0)
      return wrong(
        'read model',
        `${different} of ${what} ${differ}, as ${part.one} ${example}: ${repair(part)}`,
      )
    compared.push(what)
  }
  return ok('read model', `${compared[0]}, equal to their source`)
}

/** Of both: a record whose assessment is gone is only found among the records. */
const repair = ({ table, id, source }: Part) =>
  `select lock_export(), refresh_${table}(array(select id from ${source} union select ${id} from ${table})); and tell the maintainers`

interface Comparison {
  rows: number
  different: number
  example: string | null
}

async function compare(db: Sql, { table, id, source }: Part, full: boolean): Promise<Comparison> {
  const rendered = db`select * from ${db(`${table}_rendered`)}`
  const known = db`select id from ${db(source)} union select ${db(id)} from ${db(table)}`
  const [found] = await db<Comparison[]>`
    with compared as materialized (
      select id from (${known}) as known ${full ? db`` : db`order by random() limit ${SAMPLE}`}
    )
    select
      count(coalesce(r.${db(id)}, v.${db(id)}))::integer as rows,
      (count(*) filter (where r is distinct from v))::integer as different,
      (min(compared.id) filter (where r is distinct from v))::text as example
    from compared
    left join ${db(table)} r on r.${db(id)} = compared.id
    left join ${
      // A sample is rendered id by id.
      full
        ? db`(${rendered}) v on v.${db(id)} = compared.id`
        : db`lateral (${rendered} v where v.${db(id)} = compared.id) v on true`
    }`
  return found ?? { rows: 0, different: 0, example: null }
}
