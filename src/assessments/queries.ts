import { type SQL, sql } from 'drizzle-orm'
import { exportRecords as r } from '../../db/schema.ts'
import { type Runner, type Statement, statement } from '../postgres/statement.ts'
import type { Filter, ListQuery, Order, Sort } from './parameters.ts'

/** What an integration may read (spec 1): ids as decimal strings. */
export interface Scope {
  organizationIds: string[]
  productIds: string[]
}

/** One page: how many records match, and the documents of the page, joined by commas. */
export interface Page {
  count: number
  documents: string
}

/** The page of the scope that a query asks for, and the count beside it, in one snapshot. */
export async function selectPage(db: Runner, scope: Scope, query: ListQuery): Promise<Page> {
  const organizations = narrowed(scope.organizationIds, query.filter.organization_ids)
  const products = narrowed(scope.productIds, query.filter.product_ids)
  if (organizations.length === 0 || products.length === 0) return { count: 0, documents: '' }

  const { page, offset, filter } = query
  const asked = constraints(filter)
  const values = Object.assign({ organizations, products, page, offset }, ...Object.values(asked))
  const [row] = await listStatement(query, Object.keys(asked))(db, values)
  if (!row) throw new Error('the list statement returned no row')
  return { count: Number(row.count), documents: row.documents }
}

/** The finished JSON of one assessment of the scope, or undefined. `id` must be within bigint. */
export async function selectDocument(db: Runner, scope: Scope, id: string): Promise<string | undefined> {
  const [row] = await retrieve(db, { id, organizations: scope.organizationIds, products: scope.productIds })
  return row?.document
}

type Values = Record<string, unknown>

const inScope = sql`${r.organizationId} = any (${sql.placeholder('organizations')}::bigint[])
      and ${r.productId} = any (${sql.placeholder('products')}::bigint[])`

const retrieve = statement<Values, { document: string }>(sql`
  select ${r.document}
  from ${r}
  where ${r.id} = ${sql.placeholder('id')}::bigint
    and ${inScope}`)

/**
 * The SQL of each optional filter. Organizations and products are not among them: they narrow the scope's
 * own two sets before the statement runs, so that no request can be wider than its scope (spec 4.2, rule 4).
 */
const conditions: Record<string, SQL> = {
  start_date: sql`${r.certifiedOn} >= ${sql.placeholder('start_date')}::date`,
  end_date: sql`${r.certifiedOn} <= ${sql.placeholder('end_date')}::date`,
  user_ids: sql`${r.userId} = any (${sql.placeholder('user_ids')}::bigint[])`,
  seids: sql`${r.seid} = any (${sql.placeholder('seids')}::text[])`,
  proctor_ids: sql`${r.proctorIds} && ${sql.placeholder('proctor_ids')}::bigint[]`,
  user_record_status: sql`${r.recordStatus} = ${sql.placeholder('user_record_status')}`,
  legacy_record: sql`${r.legacyRecord} = ${sql.placeholder('legacy_record')}::boolean`,
  search: sql`${r.searchText} like ${folded('phrase')}`,
  search_two_words: sql`(${r.searchText} like ${folded('phrase')} or ${r.searchText} like ${folded('full_name')})`,
}

/** Folded in the same way as search_text itself; the function is immutable, so the planner sees a constant. */
function folded(name: string): SQL {
  return sql`search_folded(${sql.placeholder(name)}::text)`
}

const sortKeys: Record<Sort, SQL> = {
  certified_on: sql`${r.certifiedOn}`,
  user_name: sql`${r.userNameKey}`,
  proctor_name: sql`${r.proctorNameKey}`,
  product_name: sql`${r.productNameKey}`,
}

const directions: Record<Order, SQL> = { ASC: sql`asc`, DESC: sql`desc` }

/**
 * One text for each sort, order and set of filters that is present, and no catch-all with "$1 is null or":
 * Postgres plans what is really asked. The ids of the page come from an index before any document is read.
 */
function listSql(sort: Sort, order: Order, filters: string[]): SQL {
  const conditionsOf = sql.join(
    [inScope, ...filters.map(name => conditions[name] as SQL)],
    sql`
      and `,
  )
  const key = sortKeys[sort]
  const direction = directions[order]
  const fence = filters.some(name => NARROW_FILTERS.has(name)) ? sql`materialized` : sql`not materialized`
  return sql`
  with matching as ${fence} (
    select ${r.id} as id, ${key} as key
    from ${r}
    where ${conditionsOf}
  ),
  page as materialized (
    select id, key
    from matching
    order by key ${direction}, id ${direction}
    limit ${sql.placeholder('page')} offset ${sql.placeholder('offset')}
  )
  select
    (select count(*) from matching) as count,
    coalesce(
      (
        select string_agg(${r.document}, ',' order by page.key ${direction}, page.id ${direction})
        from page join ${r} on ${r.id} = page.id
      ),
      ''
    ) as documents`
}

/**
 * Filters that leave few records, a thousand people's at most. With them the records are found first and
 * sorted then: the planner can not know that these very people may stand at the end of the order, and would
 * walk everybody's records to get there.
 */
const NARROW_FILTERS = new Set(['user_ids', 'seids'])

type ListStatement = Statement<Values, { count: string; documents: string }>

/** Filters that a statement may combine and still be prepared: 4 sorts × 2 orders × 10 texts at most, not thousands. */
const FEW_FILTERS = 1

/** 4 sorts × 2 orders × the combinations of filters. */
const listStatements = new Map<string, ListStatement>()

function listStatement({ sort, order }: ListQuery, filters: string[]): ListStatement {
  const shape = [sort, order, ...filters].join(' ')
  let known = listStatements.get(shape)
  if (!known) {
    known = statement(listSql(sort, order, filters), filters.length <= FEW_FILTERS)
    listStatements.set(shape, known)
  }
  return known
}

function narrowed(scope: string[], wanted: string[] | undefined): string[] {
  if (!wanted) return scope
  const set = new Set(wanted)
  return scope.filter(id => set.has(id))
}

/** The filters that constrain anything, by name of their condition, each with the values it takes. */
function constraints(filter: Filter): Record<string, Values> {
  const { search, start_date, end_date, user_ids, seids, proctor_ids } = filter
  const status = onlyOne(filter.user_record_status)
  const legacy = onlyOne(filter.legacy_record)
  return {
    ...(start_date && { start_date: { start_date } }),
    ...(end_date && { end_date: { end_date } }),
    ...(user_ids && { user_ids: { user_ids: user_ids.filter(isBigint) } }),
    ...(seids && { seids: { seids } }),
    ...(proctor_ids && { proctor_ids: { proctor_ids: proctor_ids.filter(isBigint) } }),
    ...(status !== undefined && { user_record_status: { user_record_status: status } }),
    ...(legacy !== undefined && { legacy_record: { legacy_record: legacy } }),
    ...(search && searchConstraint(search.trim())),
  }
}

/** The value of a two-valued filter; both of them together constrain nothing. */
function onlyOne<Value>(values: Value[] | undefined): Value | undefined {
  const [first, ...others] = new Set(values)
  return others.length === 0 ? first : undefined
}

/** LIKE patterns over search_text, which holds first name, last name and product name, a line each. */
function searchConstraint(search: string): Record<string, Values> {
  const literal = (text: string) => text.replaceAll(/[\\%_]/g, '\\$&')
  const phrase = `%${literal(search)}%`
  const words = search.split(/\s+/).map(literal)
  return words.length === 2
    ? { search_two_words: { phrase, full_name: `%${words[0]}%\n%${words[1]}%\n%` } }
    : { search: { phrase } }
}

const MAX_BIGINT = 2n ** 63n - 1n

/** An id beyond bigint is no error: it matches nothing. */
export function isBigint(id: string): boolean {
  const value = BigInt(id)
  return value <= MAX_BIGINT && value >= -MAX_BIGINT - 1n
}
