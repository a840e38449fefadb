import { type SQL, sql } from 'drizzle-orm'
import { exportState, exportRecords as r } from '../../db/schema.ts'
import type { RawRow } from '../postgres/raw-rows.ts'
import { rawStatement, type Statement } from '../postgres/statement.ts'
import {
  conditions,
  inScope,
  NARROW_FILTERS,
  productsUnseen,
  SEARCH_FILTERS,
  scopeUnseen,
  type Values,
} from './conditions.ts'
import type { Order, Sort } from './parameters.ts'

/**
 * How a page is found; each gives the same answer.
 * - planned: Postgres chooses, by what it knows about every single id of the scope.
 * - few: a look into the index of each organization, and the first of all of these.
 * - most: along the index of the sort key, whatever the scope is. Nothing about the scope is estimated, which
 *   for 400 organizations takes longer than reading the page.
 */
export type Way = 'planned' | 'few' | 'most'

/** What a statement's text depends on. */
export interface Shape {
  sort: Sort
  order: Order
  /** Whether the page is entered from its far end: from the last of all records backward. */
  isBackward: boolean
  /** Names of the filters' conditions. */
  filters: string[]
  way: Way
  withCount: boolean
  /** Whether it starts behind a record, and whether it skips records from there. */
  isSeek: boolean
  isSkip: boolean
}

/** What was found, all of it in one snapshot: `version` is the one of that snapshot. */
export interface PageRow {
  /** The digest of the scope that the token has, if it is live. */
  caller: string | null
  version: string
  /** null unless it was asked for. */
  count: string | null
  /** With a count: about how many records there are in all, as Postgres estimates; -1 when it has no idea. */
  total: number | null
  /** The documents of the page, joined by commas: UTF-8, as it is sent. */
  documents: Uint8Array
  /** How many they are. */
  size: number
  /** The last of them; null on an empty page. */
  edge_key: string | null
  edge_id: string | null
}

/**
 * Filters that a statement may combine and still be kept: some hundred texts. All combinations are 24,000, which
 * took 690 MB here, and as much again on each connection where Postgres keeps them prepared.
 */
const FEW_FILTERS = 1

/** Reads a row of a page statement, whose columns are in this order. */
export function readPageRow(row: RawRow): PageRow {
  const [caller, version, count, total, documents, size, edgeKey, edgeId] = row
  if (!version || !documents || !size) throw new Error('the page statement returned no version, or no page')
  return {
    caller: text(caller),
    version: version.toString(),
    count: text(count),
    total: total ? Number(total.toString()) : null,
    documents,
    size: Number(size.toString()),
    edge_key: text(edgeKey),
    edge_id: text(edgeId),
  }
}

const text = (column: Buffer | null | undefined) => column?.toString() ?? null

const statements = new Map<string, Statement<Values, RawRow>>()

/** The statement for a shape: made once where such shapes are few, and otherwise for this page alone. */
export function pageStatement(shape: Shape): Statement<Values, RawRow> {
  const { sort, order, isBackward, way, withCount, isSeek, isSkip, filters } = shape
  if (filters.length > FEW_FILTERS) return rawStatement(pageSql(shape), false)
  const key = [sort, order, isBackward, way, withCount, isSeek, isSkip, ...filters].join(' ')
  let known = statements.get(key)
  if (!known) {
    known = rawStatement(pageSql(shape))
    statements.set(key, known)
  }
  return known
}

const sortKeys: Record<Sort, { column: SQL; type: SQL }> = {
  certified_on: { column: sql`${r.certifiedOn}`, type: sql`date` },
  user_name: { column: sql`${r.userNameKey}`, type: sql`text` },
  proctor_name: { column: sql`${r.proctorNameKey}`, type: sql`text` },
  product_name: { column: sql`${r.productNameKey}`, type: sql`text` },
}

const directions: Record<Order, { name: SQL; reverse: SQL; beyond: SQL }> = {
  ASC: { name: sql`asc`, reverse: sql`desc`, beyond: sql`>` },
  DESC: { name: sql`desc`, reverse: sql`asc`, beyond: sql`<` },
}

const limit = sql`limit ${sql.placeholder('limit')}`
const skip = sql`offset ${sql.placeholder('skip')}`

/**
 * One text for each shape, and no catch-all with "$1 is null or". Everything is read in one snapshot, the
 * version and the caller's right to the page too: a statement has only one.
 *
 * The aggregates take the records as the page below them is ordered. To let each of them order its own took
 * half as long again as finding the page.
 */
function pageSql(shape: Shape): SQL {
  const isPicked = isPickedFirst(shape)
  const matching = all([inScope, ...shape.filters.map(name => conditions[name] as SQL)])
  const { column } = sortKeys[shape.sort]
  const picked = isPicked
    ? sql`picked as materialized (select ${r.id} as id, ${column} as key from ${r} where ${matching}),`
    : sql``
  const counted = isPicked ? sql`picked` : sql`${r} where ${matching}`
  // The ids of the page come from an index before any document is read; but along the index hardly a record is
  // passed over, so that its document may be read at once.
  const isWhole = shape.way === 'most' && !shape.isSkip
  const page = isWhole
    ? alongIndex(shape, sql`, ${r.document} as document`)
    : idsOf(shape, matching, isPicked)
  const document = isWhole
    ? sql`page.document`
    : sql`(select ${r.document} from ${r} where ${r.id} = page.id)`
  return sql`
  with ${picked} page as materialized (${page})
  select
    (select scope_digest from live_token(${sql.placeholder('token')}::bytea)) as caller,
    (select ${exportState.version} from ${exportState}) as version,
    ${shape.withCount ? sql`(select count(*) from ${counted})` : sql`null::bigint`} as count,
    ${shape.withCount ? sql`(select reltuples from pg_class where oid = 'export_records'::regclass)` : sql`null::real`} as total,
    coalesce(string_agg(${document}, ','), '') as documents,
    count(*)::integer as size,
    (array_agg(page.key))[count(*)]::text as edge_key,
    (array_agg(page.id))[count(*)] as edge_id
  from ${shape.isBackward ? turned(shape) : sql`page`}`
}

/** A page that was walked to from its far end, in the order in which it is sent. */
function turned({ order }: Shape): SQL {
  const { name } = directions[order]
  return sql`(select * from page order by key ${name}, id ${name}) as page`
}

/** Records that are found by another index than the sort key's are found once, for the page and for the count. */
function isPickedFirst({ filters, withCount }: Shape): boolean {
  return filters.some(name => NARROW_FILTERS.includes(name) || (withCount && SEARCH_FILTERS.includes(name)))
}

function idsOf(shape: Shape, matching: SQL, isPicked: boolean): SQL {
  const { column } = sortKeys[shape.sort]
  if (shape.way === 'few') return fromEach(shape)
  if (shape.way === 'most') return alongIndex(shape, sql``)
  if (isPicked) {
    return sql`
    select id, key from picked ${where(behind(shape, sql`key`, sql`id`))}
    ${inWalk(shape, sql`key`, sql`id`)} ${limit} ${skip}`
  }
  return sql`
    select ${r.id} as id, ${column} as key from ${r}
    ${where(matching, behind(shape, column, sql`${r.id}`))}
    ${inWalk(shape, column, sql`${r.id}`)} ${limit} ${skip}`
}

/** A page holds at most `limit` of an organization, and none behind the first `skip` + `limit` of it. */
function fromEach(shape: Shape): SQL {
  const { column } = sortKeys[shape.sort]
  return sql`
    select its.id, its.key
    from unnest(${sql.placeholder('organizations')}::bigint[]) as organization (id)
    cross join lateral (
      select ${r.id} as id, ${column} as key from ${r}
      ${where(sql`${r.organizationId} = organization.id`, productsUnseen, behind(shape, column, sql`${r.id}`))}
      ${inWalk(shape, column, sql`${r.id}`)}
      limit ${sql.placeholder('limit')}::bigint + ${sql.placeholder('skip')}::bigint
    ) as its
    ${inWalk(shape, sql`its.key`, sql`its.id`)} ${limit} ${skip}`
}

function alongIndex(shape: Shape, further: SQL): SQL {
  const { column } = sortKeys[shape.sort]
  return sql`
    select ${r.id} as id, ${column} as key ${further} from ${r}
    ${where(scopeUnseen, behind(shape, column, sql`${r.id}`))}
    ${inWalk(shape, column, sql`${r.id}`)} ${limit} ${shape.isSkip ? skip : sql``}`
}

/** The direction in which records are walked to the page, which is not always the one they are sent in. */
function inWalk({ order, isBackward }: Shape, key: SQL, id: SQL): SQL {
  const { name, reverse } = directions[order]
  const direction = isBackward ? reverse : name
  return sql`order by ${key} ${direction}, ${id} ${direction}`
}

function behind({ order, sort, isSeek }: Shape, key: SQL, id: SQL): SQL | undefined {
  const { beyond } = directions[order]
  const { type } = sortKeys[sort]
  return isSeek
    ? sql`(${key}, ${id}) ${beyond} (${sql.placeholder('after_key')}::${type}, ${sql.placeholder('after_id')}::bigint)`
    : undefined
}

const all = (of: SQL[]) => sql.join(of, sql` and `)

function where(...of: (SQL | undefined)[]): SQL {
  const given = of.filter(condition => condition !== undefined)
  return given.length === 0 ? sql`` : sql`where ${all(given)}`
}
