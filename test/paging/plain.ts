import type { Sql } from 'postgres'
import { type Reader, readPage } from '../../src/assessments/page.ts'
import type { PageMemory } from '../../src/assessments/page-memory.ts'
import { parseListQuery } from '../../src/assessments/parse.ts'
import type { Runner } from '../../src/postgres/statement.ts'

/** What is asked of the list, as a client would put it. */
export interface Asked {
  sort: (typeof ASKED_SORTS)[number]
  order: 'ASC' | 'DESC'
  filter: number
  size: number
}

/** What a client may read: ids. */
export interface Scope {
  organizations: number[]
  products: number[]
}

export const ASKED_SORTS = ['certified_on', 'user_name', 'proctor_name', 'product_name'] as const

const columns = {
  certified_on: 'certified_on',
  user_name: 'user_name_key',
  proctor_name: 'proctor_name_key',
  product_name: 'product_name_key',
} as const

/** Filters in the words of the request, and the same in plain SQL. The first ones are no filter at all. */
const FILTERS = [
  ['', 'true'],
  ['', 'true'],
  ['filter[start_date]=2025-01-05', `certified_on >= '2025-01-05'`],
  ['filter[end_date]=2025-01-09', `certified_on <= '2025-01-09'`],
  [
    'filter[start_date]=2025-01-03&filter[end_date]=2025-01-11',
    `certified_on between '2025-01-03' and '2025-01-11'`,
  ],
  ['filter[user_ids][]=1&filter[user_ids][]=2&filter[user_ids][]=5', 'user_id in (1, 2, 5)'],
  ['filter[proctor_ids][]=3&filter[proctor_ids][]=4', 'proctor_ids && array[3, 4]::bigint[]'],
  ['filter[seids][]=S-1&filter[seids][]=S-2', `seid in ('S-1', 'S-2')`],
  ['filter[organization_ids][]=2&filter[organization_ids][]=6', 'organization_id in (2, 6)'],
  ['filter[organization_ids][]=6', 'organization_id = 6'],
  ['filter[product_ids][]=1&filter[product_ids][]=2', 'product_id in (1, 2)'],
  ['filter[user_record_status][]=active', `record_status = 'active'`],
  ['filter[legacy_record][]=false', 'not legacy_record'],
  ['filter[search]=EK', `search_text like '%ek%'`],
  ['filter[search]=an', `search_text like '%an%'`],
] as const

export const FILTER_COUNT = FILTERS.length

/** The query string of a page. */
export function queryString({ sort, order, filter, size }: Asked, offset: number): string {
  return `sort=${sort}&order=${order}&page=${size}&offset=${offset}&${FILTERS[filter]?.[0]}`
}

/** A reader whose token nobody has issued: what a page holds does not depend on that. */
export function readerOf({ organizations, products }: Scope): Reader {
  return {
    tokenDigest: Buffer.alloc(32),
    organizationIds: organizations.map(String),
    productIds: products.map(String),
    scopeDigest: JSON.stringify([organizations, products]),
  }
}

/** The body of a page as the service would send it, read without HTTP. */
export async function readBody(
  db: Runner,
  memory: PageMemory,
  scope: Scope,
  asked: Asked,
  offset: number,
): Promise<string> {
  const query = parseListQuery(queryString(asked, offset))
  const { count, documents } = (await readPage(db, memory, readerOf(scope), query)) ?? {
    count: 0,
    documents: '',
  }
  return `{"data":[${documents}],"meta":{"count":${count},"offset":${offset},"page":${asked.size}}}`
}

/**
 * Remembers what the source tables hold at each step of a test, rendered by the view and kept in a table that
 * has no trigger, no index on a sort key and no part in the service.
 */
export class History {
  private source = ''

  constructor(private readonly db: Sql) {}

  /** `source` is where the rows come from; the view, unless a test has none of the source tables. */
  async start(source = 'export_records_rendered'): Promise<void> {
    this.source = source
    await this.db.unsafe(`
      drop table if exists history;
      create unlogged table history as select 0 as step, v.* from ${source} v with no data;
      create index on history (step)`)
  }

  async record(step: number): Promise<void> {
    await this.db.unsafe(`insert into history select $1::integer, v.* from ${this.source} v`, [step])
  }

  async forget(): Promise<void> {
    await this.db.unsafe('truncate history')
  }

  /** The body that plain count(*) and OFFSET give for the data of a step. */
  async page(
    step: number,
    { organizations, products }: Scope,
    asked: Asked,
    offset: number,
  ): Promise<string> {
    const { sort, order, filter, size } = asked
    const inOrder = `order by ${columns[sort]} ${order}, id ${order}`
    const [row] = await this.db.unsafe<{ count: string; documents: string[] }[]>(
      `with matching as (
         select * from history
         where step = $1 and organization_id = any ($2::bigint[]) and product_id = any ($3::bigint[])
           and ${FILTERS[filter]?.[1]}
       )
       select (select count(*) from matching) as count,
         array(select document from matching ${inOrder} offset $4 limit $5) as documents`,
      [step, organizations, products, offset, size],
    )
    if (!row) throw new Error('there is no count')
    const meta = `{"count":${row.count},"offset":${offset},"page":${size}}`
    return `{"data":[${row.documents.join(',')}],"meta":${meta}}`
  }

  async document(step: number, { organizations, products }: Scope, id: number): Promise<string | undefined> {
    const [row] = await this.db.unsafe<{ document: string }[]>(
      `select document from history
       where step = $1 and organization_id = any ($2::bigint[]) and product_id = any ($3::bigint[]) and id = $4`,
      [step, organizations, products, id],
    )
    return row?.document
  }
}
