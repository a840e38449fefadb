import { type SQL, sql } from 'drizzle-orm'
import { exportRecords as r } from '../../db/schema.ts'
import type { Order, Sort } from '../contract.ts'
import { type RawRow, rawStatement, rowOf, type Statement } from '../postgres/statement.ts'
import { ACCESS } from './access.ts'
import {
  conditions,
  inOrganizations,
  inProducts,
  inScope,
  isScopeFilled,
  organizations,
  recordsFound,
  type ScopeSet,
  scopeOf,
  searchOf,
  type Values,
  wasFound,
} from './conditions.ts'
import { disclosedByPage, peopleOfPage } from './disclosure.ts'

/**
 * How the records of a page are found; each way gives the same answer.
 * - whole: along the index of the sort key, documents and all, because nearly every record matches.
 * - along: the same, but the ids of the page come from the index alone, and their documents after that.
 * - few: a look into the index of each organization of the scope, and the first of all that these find.
 * - picked: all records that match, found by an index of a filter or a search, and sorted then.
 */
export type Way = 'whole' | 'along' | 'few' | 'picked'

/** What the text of a page statement depends on. */
export interface Shape {
  sort: Sort
  order: Order
  way: Way
  /** Names of the filters' conditions, and of the sets of the scope that the request narrows. */
  filters: string[]
  narrowed: ScopeSet[]
  /** Where the page is entered: at the first record, at the last one, or at a remembered place. */
  from: 'start' | 'end' | 'place'
  /** Whether the matching records are counted, or a remembered count is corrected. */
  isCounted: boolean
  /** The most records from the entry to the far end of the page. */
  reach: Reach
}

/** Literals: for a parameter Postgres would sort a tenth of all records. Few, because each makes a text to prepare. */
const REACHES = { 1000: sql`1000`, 100000: sql`100000`, 10000000: sql`10000000`, 1000000000: sql`1000000000` }
export type Reach = keyof typeof REACHES
const NEAR = 1000

/** The least reach for a distance; twice the distance for a near place, because others may write in between. */
export function reachOf(distance: number): Reach {
  return distance <= NEAR / 2 ? NEAR : distance <= 1e5 ? 100000 : distance <= 1e7 ? 10000000 : 1000000000
}

const prepared = new Map<string, Statement<Values, RawRow>>()

/** Statements of a walk are prepared, with one generic plan. Filters make 24,000 texts, planned for their values. */
export function pageStatement(shape: Shape): Statement<Values, RawRow> {
  if (!isPrepared(shape)) return rawStatement(pageSql(shape), false)
  const { sort, order, way, from, narrowed } = shape
  const key = [sort, order, way, from, ...narrowed].join(' ')
  return prepared.getOrInsertComputed(key, () => rawStatement(pageSql(shape)))
}

const isPrepared = ({ filters, isCounted, reach }: Shape) =>
  filters.length === 0 && !isCounted && reach === NEAR

const value = sql.placeholder
const nothing = sql``
const and = (all: SQL[]) => sql.join(all, sql` and `)
const filtersOf = ({ filters }: Shape) => filters.map(name => conditions[name] as SQL)

const keyOf = ({ sort }: Shape) =>
  sql`${{ certified_on: r.certifiedOn, user_name: r.userNameKey, proctor_name: r.proctorNameKey, product_name: r.productNameKey }[sort]}`

/** The statement of a page: one snapshot. src/README.md explains its parts; test/assessments/statements has two. */
export function pageSql(shape: Shape): SQL {
  const { way, from, isCounted, order } = shape
  // Planning the view takes 0.16 ms, calling the function 0.05 ms: each is used where the other would cost more.
  const tokens = isPrepared(shape)
    ? sql`live_tokens where digest = ${value('token')}::bytea`
    : sql`live_token(${value('token')}::bytea)`
  const isWhole = way === 'whole'
  const documentOf = isWhole ? sql`document` : sql`(select ${r.document} from ${r} where ${r.id} = page.id)`
  return sql`
with token as materialized (
  select * from ${tokens}
), ${scopeOf(shape.narrowed)}, newest as materialized (
  select position, tag from export_changes order by position desc limit 1
)${way === 'picked' ? picked(shape) : nothing}${isCounted ? nothing : changed(shape)}, total as materialized (
  select ${isCounted ? sql`true` : isValid(shape)} as is_valid, ${isCounted ? counted(shape) : correctedCount} as count
), entry as materialized (
  select is_valid, count, ${entryAt[from]} as at, ${value('offset')}::bigint as wanted,
    case when is_valid then greatest(0, least(${value('limit')}::bigint, count - ${value('offset')}::bigint)) else 0 end as size
  from total
), part as materialized (
  select
    greatest(0, wanted - at) as after_skip, size - greatest(0, least(at - wanted, size)) as after_size,
    greatest(0, at - wanted - size) as before_skip, greatest(0, least(at - wanted, size)) as before_size
  from entry
), page as materialized (${pageRecords(shape)})
select ${rowOf(ACCESS).list},
  is_valid and (entry.size = 0 or greatest(after_skip + after_size, before_skip + before_size) <= ${REACHES[shape.reach]}) as is_valid,
  count, coalesce(newest.position, 0) as position, coalesce(newest.tag, gen_random_uuid()) as tag,
  ${isCounted ? sql`(select reltuples::bigint from pg_class where oid = 'export_records'::regclass)` : sql`null`} as total,
  documents, found.size, last_key, last_id, disclosed.*
from entry cross join part left join newest on true left join token on true cross join (
  select
    coalesce(string_agg(${documentOf}, ','), '') as documents,
    count(*) as size,
    (array_agg(key))[count(*)] as last_key,
    (array_agg(id))[count(*)] as last_id,
    array_agg(id) as ids${isWhole ? peopleOfPage : nothing}
  from ${from === 'start' ? sql`page` : sql`(select * from page order by ${inOrder(order === 'ASC')}) as page`}
) as found ${disclosedByPage(isWhole)}`
}

function picked(shape: Shape): SQL {
  const search = searchOf(shape.filters)
  const others = filtersOf({ ...shape, filters: shape.filters.filter(name => name !== search) })
  return sql`, picked as materialized (
  select ${r.id} as id, ${keyOf(shape)} as key from ${search ? recordsFound(search) : r}
  where ${and([inScope, ...others])}
)`
}

/** The log has the columns of records, as they were then. Without an upper bound the planner expects a third of it. */
function changed(shape: Shape): SQL {
  const { from, filters } = shape
  const hasPlace = from === 'place'
  const isBefore = hasPlace ? besidePlace(shape, 'before', keyOf(shape), sql`${r.id}`) : sql`false`
  const matched = filters.map(name => (searchOf([name]) ? wasFound : (conditions[name] as SQL)))
  const since = hasPlace
    ? sql`least(${value('count_position')}::bigint, ${value('place_position')}::bigint)`
    : sql`${value('count_position')}::bigint`
  return sql`, changed as materialized (
  select position, delta, ${isBefore} as is_before
  from export_changes as ${r}
  where position > ${since}
    and position <= (select position from newest)
    and case when delta is null then organization_id is null or ${inOrganizations} else ${and([inScope, ...matched])} end
)`
}

/** Whether the hints are of this scope, of moments that the log still has, and can be corrected by the log. */
function isValid({ from }: Shape): SQL {
  const isLogged = (position: string, tag: string) => sql`
    and exists (select from export_changes where position = ${value(position)}::bigint and tag = ${value(tag)}::uuid)`
  return sql`coalesce((select scope_digest from token) = ${value('scope')}, false)
    and not exists (select from changed where delta is null)${isLogged('count_position', 'count_tag')}${
      from === 'place' ? isLogged('place_position', 'place_tag') : nothing
    }`
}

const correctedCount = sql`${value('count')}::bigint + coalesce((select sum(delta) from changed where position > ${value('count_position')}::bigint), 0)::bigint`

function counted(shape: Shape): SQL {
  if (shape.filters.length === 0) {
    // Writers keep the counts of each organization and product.
    return sql`coalesce((select sum(records) from export_counts as ${r} where ${r.organizationId} = any (${organizations}::bigint[]) and ${inProducts}), 0)::bigint`
  }
  if (shape.way === 'few') {
    // Each by itself: for a join to all of them the planner may expect many, and read every record.
    return sql`case when ${isScopeFilled} then (
    select sum(each.count)::bigint from unnest(${organizations}) as organization (id) cross join lateral (
      select count(*) from ${r} where ${and([ofOrganization, ...filtersOf(shape)])}
    ) as each) else 0 end`
  }
  const from = shape.way === 'picked' ? sql`picked` : sql`${r} where ${and([inScope, ...filtersOf(shape)])}`
  return sql`case when ${isScopeFilled} then (select count(*) from ${from}) else 0 end`
}

const ofOrganization = sql`${r.organizationId} = organization.id and ${inProducts}`

/** How many of the matching records come before the place where the page is entered, that record included. */
const entryAt = {
  start: sql`0::bigint`,
  end: sql`count`,
  place: sql`${value('at')}::bigint + coalesce((select sum(delta) from changed where position > ${value('place_position')}::bigint and is_before), 0)::bigint`,
}

/** The part of the page after the entry, and the one before it, which is read backward. */
function pageRecords(shape: Shape): SQL {
  const after = sql`
  select * from (${records(shape, 'after')}
  ) as after limit (select after_size from part) offset (select after_skip from part)`
  const before = sql`
  select * from (${records(shape, 'before')}
  ) as before limit (select before_size from part) offset (select before_skip from part)`
  if (shape.from === 'place')
    return sql`(${after})
  union all
(${before})`
  return shape.from === 'start' ? after : before
}

/** The matching records on one side of the entry, the nearest first, as far as the reach goes. */
function records(shape: Shape, side: 'after' | 'before'): SQL {
  const isAscending = (shape.order === 'ASC') === (side === 'after')
  const beside = (key: SQL, id: SQL) => (shape.from === 'place' ? [besidePlace(shape, side, key, id)] : [])
  const limit = sql`limit ${REACHES[shape.reach]}`
  const [key, id] = [keyOf(shape), sql`${r.id}`]
  switch (shape.way) {
    case 'picked':
      return sql`
    select id, key from picked ${where(beside(sql`key`, sql`id`))} order by ${inOrder(isAscending)} ${limit}`
    case 'few':
      return sql`
    select nearest.id, nearest.key from unnest(${organizations}) as organization (id) cross join lateral (
      select ${id} as id, ${key} as key from ${r}
      where ${and([ofOrganization, ...filtersOf(shape), ...beside(key, id)])}
      order by ${inOrder(isAscending, key, id)}
      limit (select ${side === 'after' ? sql`after_skip + after_size` : sql`before_skip + before_size`} from part)
    ) as nearest
    order by ${inOrder(isAscending, sql`nearest.key`, sql`nearest.id`)} ${limit}`
    default:
      return sql`
    select ${id} as id, ${key} as key${shape.way === 'whole' ? sql`, ${r.document} as document, ${r.userId} as user_id` : nothing} from ${r}
    where ${and([inScope, ...filtersOf(shape), ...beside(key, id)])}
    order by ${inOrder(isAscending, key, id)} ${limit}`
  }
}

const where = (all: SQL[]) => (all.length === 0 ? nothing : sql`where ${and(all)}`)

const inOrder = (isAscending: boolean, key = sql`key`, id = sql`id`) =>
  isAscending ? sql`${key} asc, ${id} asc` : sql`${key} desc, ${id} desc`

/** The record at the place is before it. The planner does not look into sub-selects: one plan serves all values. */
function besidePlace({ sort, order }: Shape, side: 'after' | 'before', key: SQL, id: SQL): SQL {
  const operators = { ASC: { after: sql`>`, before: sql`<=` }, DESC: { after: sql`<`, before: sql`>=` } }
  const type = sort === 'certified_on' ? sql`date` : sql`text`
  return sql`(${key}, ${id}) ${operators[order][side]} ((select ${value('key')}::${type}), (select ${value('id')}::bigint))`
}
