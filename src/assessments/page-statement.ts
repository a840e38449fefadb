import { type SQL, sql } from 'drizzle-orm'
import { exportRecords as r, disclosureState as state } from '../../db/schema.ts'
import { type RawRow, rawStatement, type Statement } from '../postgres/statement.ts'
import { ACCESS } from './access.ts'
import { conditions, type Values } from './conditions.ts'
import type { Order, Sort } from './parameters.ts'
import {
  inOrganizations,
  inProducts,
  inScope,
  isScopeFilled,
  ofOrganizations,
  organizationsOfScope,
  type ScopeSet,
  scopeOf,
} from './scope.ts'
import { recordsFound, searchOf, wasFound } from './search.ts'

/**
 * How the records of a page are found; each way gives the same answer.
 * - whole: along the index of the sort key, documents and all, because nearly every record matches.
 * - along: the same, but the ids of the page come from the index alone, and their documents after that.
 * - few: a look into the index of each organization of the scope, and the first of all of these.
 * - picked: all that match, by whatever index finds them, and put in order then.
 */
export type Way = 'whole' | 'along' | 'few' | 'picked'

/** What the text of a page statement depends on. */
export interface Shape {
  sort: Sort
  order: Order
  way: Way
  /** Names of the filters' conditions, and the sets of the scope that the request narrows. */
  filters: string[]
  narrowed: ScopeSet[]
  /** Where the page is entered: at the first record, at the last one, or at a remembered place. */
  from: 'start' | 'end' | 'place'
  /** Whether the matching records are counted, or a remembered count is corrected. */
  isCounted: boolean
  /** Records from there to the far end of the page at most. */
  reach: Reach
}

/**
 * Literals: with a parameter in its place Postgres would expect to read a tenth of all records, and sort them.
 * Few, because a text is prepared for each.
 */
const REACHES = { 1000: sql`1000`, 100000: sql`100000`, 10000000: sql`10000000`, 1000000000: sql`1000000000` }
export type Reach = keyof typeof REACHES
const NEAR = 1000

/** The least reach that goes so far, twice over for a place near by: others may write in between. */
export function reachOf(distance: number): Reach {
  return distance <= NEAR / 2 ? NEAR : distance <= 1e5 ? 100000 : distance <= 1e7 ? 10000000 : 1000000000
}

type PageStatement = Statement<Values, RawRow>
const kept = new Map<string, PageStatement>()

/**
 * The statement for a shape. Those of a walk are sent again and again: they are prepared, and keep one generic
 * plan. The others are planned for their values; the combinations of filters alone are 24,000 texts.
 */
export function pageStatement(shape: Shape): PageStatement {
  if (!isKept(shape)) return rawStatement(pageSql(shape), false)
  const { sort, order, way, from, narrowed } = shape
  const key = [sort, order, way, from, ...narrowed].join(' ')
  const statement = kept.get(key) ?? rawStatement(pageSql(shape))
  kept.set(key, statement)
  return statement
}

const isKept = ({ filters, isCounted, reach }: Shape) => filters.length === 0 && !isCounted && reach === NEAR

/** To plan the view takes 0.16 ms, and the function 0.05 ms to call: each where the other would cost more. */
const tokenOf = (shape: Shape) =>
  isKept(shape)
    ? sql`live_tokens where digest = ${value('token')}::bytea`
    : sql`live_token(${value('token')}::bytea)`

const value = sql.placeholder

/**
 * All of it is read in one snapshot: a statement has only one. The columns are read by selectPage(). Whose records they
 * are is looked up only where answers are recorded: elsewhere that costs a look at one row.
 */
export function pageSql(shape: Shape): SQL {
  const isOrdered = shape.from === 'start'
  const isWhole = shape.way === 'whole'
  return sql`
with token as materialized (
  select * from ${tokenOf(shape)}
), ${scopeOf(shape.narrowed)}, newest as materialized (
  select position, tag from export_changes order by position desc limit 1
)${shape.way === 'picked' ? picked(shape) : sql``}${shape.isCounted ? sql`` : changed(shape)}, facts as materialized (
  select ${held(shape)} as is_held, ${count(shape)} as count
), place as materialized (
  select is_held, count, ${at(shape)} as at, ${value('offset')}::bigint as asked,
    case when is_held then greatest(0, least(${value('limit')}::bigint, count - ${value('offset')}::bigint)) else 0 end as size
  from facts
), part as materialized (
  select
    greatest(0, asked - at) as after_skip, size - greatest(0, least(at - asked, size)) as after_size,
    greatest(0, at - asked - size) as before_skip, greatest(0, least(at - asked, size)) as before_size
  from place
), page as materialized (${sql.join(
    partsOf(shape),
    sql`
  union all`,
  )}
)
select ${ACCESS},
  is_held and (place.size = 0 or greatest(after_skip + after_size, before_skip + before_size) <= ${REACHES[shape.reach]}) as is_held,
  count, coalesce(newest.position, 0) as position, coalesce(newest.tag, gen_random_uuid()) as tag,
  ${shape.isCounted ? sql`(select reltuples::bigint from pg_class where oid = 'export_records'::regclass)` : sql`null`} as total,
  documents, found.size, last_key, last_id, shown.*
from place cross join part left join newest on true left join token on true cross join (
  select
    coalesce(string_agg(${isWhole ? sql`document` : sql`(select ${r.document} from ${r} where ${r.id} = page.id)`}, ','), '') as documents,
    count(*) as size,
    (array_agg(key))[count(*)] as last_key,
    (array_agg(id))[count(*)] as last_id,
    array_agg(id) as ids${
      isWhole
        ? sql`,
    array_agg(user_id) filter (where (select ${state.isOn} from ${state})) as people`
        : sql``
    }
  from ${isOrdered ? sql`page` : sql`(select * from page order by ${inOrder(shape.order)}) as page`}
) as found left join lateral (
  select ids::text, (select array_agg(distinct ${isWhole ? sql`id` : r.userId})::text from ${isWhole ? sql`unnest(people) as id` : sql`${r} where ${r.id} = any (ids)`})
  from ${state} where ${state.isOn} and ids is not null
) as shown on true`
}

/** The records that match, once for the count and for the page. */
function picked(shape: Shape): SQL {
  const search = searchOf(shape.filters)
  const from = search
    ? sql`${recordsFound(search)} where ${matching({ ...shape, filters: shape.filters.filter(name => name !== search) })}`
    : sql`${r} where ${matching(shape)}`
  return sql`, picked as materialized (
  select ${r.id} as id, ${keyOf(shape)} as key from ${from}
)`
}

/**
 * What has changed in the scope since the facts were found: by the same conditions, because the log has the columns
 * of the records. The upper bound is there for the planner, which would expect a third of the log without.
 */
const changed = (shape: Shape) => sql`, changed as materialized (
  select position, delta, ${shape.from === 'place' ? sql`(${keyOf(shape)}, ${r.id}) ${shape.order === 'ASC' ? sql`<=` : sql`>=`} ${placeOf(shape)}` : sql`false`} as is_before
  from export_changes as ${r}
  where position > ${shape.from === 'place' ? sql`least(${value('count_position')}::bigint, ${value('place_position')}::bigint)` : sql`${value('count_position')}::bigint`}
    and position <= (select position from newest)
    and case when delta is null then organization_id is null or ${inOrganizations} else ${all([inScope, ...shape.filters.map(wasTrue)])} end
)`

/** Whether the facts are of this scope, of the history that the log has, and can be corrected by it. */
function held({ isCounted, from }: Shape): SQL {
  if (isCounted) return sql`true`
  const logged = (position: string, tag: string) => sql`
    and exists (select from export_changes where position = ${value(position)}::bigint and tag = ${value(tag)}::uuid)`
  return sql`coalesce((select scope_digest from token) = ${value('scope')}, false)
    and not exists (select from changed where delta is null)${logged('count_position', 'count_tag')}${from === 'place' ? logged('place_position', 'place_tag') : sql``}`
}

function count(shape: Shape): SQL {
  if (!shape.isCounted) {
    return sql`${value('count')}::bigint + coalesce((select sum(delta) from changed where position > ${value('count_position')}::bigint), 0)::bigint`
  }
  if (shape.filters.length === 0) {
    // Of organizations and products alone, the records have been counted as they were written.
    return sql`coalesce((select sum(records) from export_counts as ${r} where ${ofOrganizations} and ${inProducts}), 0)::bigint`
  }
  if (shape.way === 'few') {
    // Each by itself: joined to all of them at once, every record would be read where the planner takes them for many.
    const its = sql`select count(*) from ${r} where ${all([sql`${r.organizationId} = organization.id`, inProducts, ...filtersOf(shape)])}`
    return sql`case when ${isScopeFilled} then (
    select sum(its.count)::bigint from ${organizationsOfScope} cross join lateral (${its}) as its) else 0 end`
  }
  const from = shape.way === 'picked' ? sql`picked` : sql`${r} where ${matching(shape)}`
  return sql`case when ${isScopeFilled} then (select count(*) from ${from}) else 0 end`
}

/** How many of the matching records are up to the place where the page is entered. */
function at({ from }: Shape): SQL {
  if (from === 'start') return sql`0::bigint`
  if (from === 'end') return sql`count`
  return sql`${value('at')}::bigint + coalesce((select sum(delta) from changed where position > ${value('place_position')}::bigint and is_before), 0)::bigint`
}

/** The part of the page behind the place, and the one before it, read backward. */
function partsOf(shape: Shape): SQL[] {
  const after = sql`
  select * from (${walk(shape, 'after')}
  ) as after limit (select after_size from part) offset (select after_skip from part)`
  const before = sql`
  select * from (${walk(shape, 'before')}
  ) as before limit (select before_size from part) offset (select before_skip from part)`
  if (shape.from === 'start') return [after]
  if (shape.from === 'end') return [before]
  return [sql`(${after})`, sql`(${before})`]
}

type Side = 'after' | 'before'

/** Records from the place on, the nearest first, as far as the reach goes; as many as are needed are read. */
function walk(shape: Shape, side: Side): SQL {
  const order = side === 'after' ? shape.order : reverse[shape.order]
  const behind = (key: SQL, id: SQL) =>
    shape.from === 'place' ? [sql`(${key}, ${id}) ${beyond(shape.order, side)} ${placeOf(shape)}`] : []
  const limit = sql`limit ${REACHES[shape.reach]}`
  if (shape.way === 'picked') {
    return sql`
    select id, key from picked ${where(behind(sql`key`, sql`id`))} order by ${inOrder(order)} ${limit}`
  }
  const key = keyOf(shape)
  const id = sql`${r.id}`
  if (shape.way === 'few') {
    const needed = side === 'after' ? sql`after_skip + after_size` : sql`before_skip + before_size`
    return sql`
    select its.id, its.key
    from ${organizationsOfScope} cross join lateral (
      select ${r.id} as id, ${key} as key from ${r}
      ${where([sql`${r.organizationId} = organization.id`, inProducts, ...filtersOf(shape), ...behind(key, id)])}
      order by ${inOrder(order, key, id)} limit (select ${needed} from part)
    ) as its
    order by ${inOrder(order, sql`its.key`, sql`its.id`)} ${limit}`
  }
  return sql`
    select ${r.id} as id, ${key} as key${shape.way === 'whole' ? sql`, ${r.document} as document, ${r.userId} as user_id` : sql``} from ${r}
    ${where([inScope, ...filtersOf(shape), ...behind(key, id)])}
    order by ${inOrder(order, key, id)} ${limit}`
}

const keyOf = ({ sort }: Shape) => sql`${sortKeys[sort]}`

const sortKeys = {
  certified_on: r.certifiedOn,
  user_name: r.userNameKey,
  proctor_name: r.proctorNameKey,
  product_name: r.productNameKey,
} satisfies Record<Sort, unknown>

/** In sub-selects, which the planner does not look into: by what it knew of a value it would plan for each anew. */
const placeOf = ({ sort }: Shape) =>
  sql`((select ${value('key')}::${sort === 'certified_on' ? sql`date` : sql`text`}), (select ${value('id')}::bigint))`

const reverse: Record<Order, Order> = { ASC: 'DESC', DESC: 'ASC' }

/** The record at a place is before it. */
const beyond = (order: Order, side: Side) =>
  order === 'ASC' ? (side === 'after' ? sql`>` : sql`<=`) : side === 'after' ? sql`<` : sql`>=`

const inOrder = (order: Order, key = sql`key`, id = sql`id`) =>
  order === 'ASC' ? sql`${key} asc, ${id} asc` : sql`${key} desc, ${id} desc`

/** The condition of a filter for the log, where a name is what it was then. */
function wasTrue(name: string): SQL {
  const search = searchOf([name])
  return search ? sql`coalesce(${wasFound(search)}, false)` : (conditions[name] as SQL)
}

const filtersOf = ({ filters }: Shape) => filters.map(name => conditions[name] as SQL)

const matching = (shape: Shape) => all([inScope, ...filtersOf(shape)])

const all = (of: SQL[]) => sql.join(of, sql` and `)

const where = (of: SQL[]) => (of.length === 0 ? sql`` : sql`where ${all(of)}`)
