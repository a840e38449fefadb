import { type SQL, sql } from 'drizzle-orm'
import { exportRecords as r } from '../../db/schema.ts'
import type { Order, Sort } from '../contract.ts'
import { rowOf } from '../database/statement.ts'
import { ACCESS, version } from './access.ts'
import { recording } from './disclosure.ts'
import {
  all,
  type Constraint,
  conditionsOf,
  inSets,
  inSetsOfToken,
  isSearch,
  matching,
  mostSorted,
  SCOPE_OF_SEARCH,
  SETS,
} from './filters.ts'

/** What the text of a page depends on. Its values are parameters. */
export interface Shape {
  /** What gives the scope: the live token, or at a standby the values that the primary has read. */
  source: 'token' | 'scope'
  sort: Sort
  order: Order
  filters: Constraint[]
  /** Where the count of the list comes from: it is remembered, or writers keep it, or the records are counted. */
  count: 'remembered' | 'kept' | 'records'
  /**
   * How the records of the page are found:
   * - walked: along the index of the sort, for long lists.
   * - found: by any index, and sorted, for short lists and those of people.
   * - either: as the length turns out, for a search of which nothing is known.
   */
  way: 'walked' | 'found' | 'either'
  /** Whether no three letters in a row stand in the text of a search. */
  isShortSearch: boolean
  hasCursor: boolean
  /** Whether the names of the scope's products bound the page. */
  isWithinNames: boolean
  /**
   * Whether it is a walk through most records that begins near its page. The text of such a walk is prepared once, takes the sets
   * from the token, and reads the documents on the way, because most of them are sent. Any other page is planned for its values,
   * in 0.7 ms, and looks its documents up by id.
   */
  isOfMost: boolean
}

const SOURCES: Record<Shape['source'], SQL> = {
  token: sql`
  select client_id, scope_digest, organization_ids, product_ids, ${ACCESS.missing} as missing,
    ${version} as version, ${recording} as recording
  from live_tokens as token where digest = ${sql.placeholder('tokenDigest')}::bytea`,
  scope: sql`
  select ${sql.placeholder('clientId')}::text as client_id, ${sql.placeholder('scopeDigest')}::text as scope_digest,
    ${SETS.organizations} as organization_ids, ${SETS.products} as product_ids, null as missing,
    ${version} as version, ${sql.placeholder('recording')}::boolean as recording`,
}

export const PAGE = rowOf({
  ...ACCESS,
  missing: sql`token.missing`,
  version: sql`token.version`,
  recording: sql`token.recording`,
  /** How many records match, and whether these are most of all. Null if the list is remembered. */
  count: sql`counted.count`,
  hasMost: sql`counted.has_most`,
  documents: sql`page.documents`,
  size: sql`page.size`,
  /** Whether a record comes after the page. */
  goesOn: sql`(select count(*) from near) > page.size`,
  /** Of the last record. A date is ISO, whatever the DateStyle: a later page is read from it. */
  lastKey: sql`page.last_key`,
  lastId: sql`page.last_id`,
  assessments: sql`page.assessments`,
  people: sql`page.people`,
})

/**
 * A page. It has no records if the token has another scope by now than the request has read, or if the export has another
 * version than the list that is remembered.
 */
export function pageSql(shape: Shape): SQL {
  const { source, sort, filters, count, way, isOfMost } = shape
  const isFound = way !== 'walked' || count === 'records'
  const last = sql`(array_agg(key))[count(*)]`
  const parts = [
    sql`
with token as materialized (${SOURCES[source]}
)`,
    ...when(
      isFound && isSearch(filters),
      sql`scope as materialized (${SCOPE_OF_SEARCH}
)`,
    ),
    ...when(
      isFound,
      sql`found as not materialized (${matching(KEYS[sort], filters, shape.isShortSearch)}
)`,
    ),
    ...when(
      way === 'either',
      sql`few as materialized (
  select id, key from found where ${isCurrent(shape)} limit ${mostSorted} + 1
)`,
    ),
    sql`counted as materialized (${counted(shape)}
)`,
    sql`near as materialized (${near(shape)}
)`,
    sql`page as (
  select
    string_agg(document, ',') as documents,
    count(*) as size,
    ${sort === 'certified_on' ? sql`to_char(${last}, 'YYYY-MM-DD')` : last} as last_key,
    (array_agg(id))[count(*)] as last_id,
    array_agg(id) filter (where (select recording from token)) as assessments,
    array_agg(user_id) filter (where (select recording from token)) as people
  from (
    select near.id, key, document, user_id
    from (select * from near limit ${valueFor(shape, 'size')}) as near${isOfMost ? sql`` : RECORD}
    order by ${inOrder(shape)}
  ) as shown
)
select ${PAGE.list}
from token, counted, page`,
  ]
  return sql.join(parts, sql`, `)
}

/** A join would be planned as if half of all records were looked up. */
const RECORD = sql`
    cross join lateral (select ${r.document}, ${r.userId} from ${r} where ${r.id} = near.id offset 0) as record`

const KEYS: Record<Sort, SQL> = {
  certified_on: sql`${r.certifiedOn}`,
  user_name: sql`${r.userNameKey}`,
  proctor_name: sql`${r.proctorNameKey}`,
  product_name: sql`${r.productNameKey}`,
}

/**
 * All matches along the index of the sort. The planner takes a condition in coalesce() to hold for every second record, and so
 * walks. Bare ones promise few records, and it would sort them all. Only those of the index itself are bare: they say where
 * the walk begins and ends.
 */
function walked({ sort, filters, isOfMost }: Shape): SQL {
  const ofIndex = sort === 'certified_on' ? filters.filter(name => DAYS.includes(name)) : []
  const others = conditionsOf(filters.filter(name => !ofIndex.includes(name)))
  return sql`
  select ${r.id} as id, ${KEYS[sort]} as key${isOfMost ? sql`, ${r.document}, ${r.userId}` : sql``} from ${r}
  where ${all([sql`coalesce(${all([isOfMost ? inSetsOfToken : inSets, ...others])}, false)`, ...conditionsOf(ofIndex)])}`
}

/** The filters that ask for the column which the index of certified_on begins with. */
const DAYS: Constraint[] = ['start_date', 'end_date']

/** Whether anything is read: the token has the scope that the request has read, and the export the version of the list. */
const isCurrent = ({ count }: Shape): SQL =>
  count === 'remembered'
    ? sql`(select scope_digest = ${sql.placeholder('scopeDigest')} and version = ${sql.placeholder('version')}::uuid from token)`
    : sql`(select scope_digest = ${sql.placeholder('scopeDigest')} from token)`

/** How many records match, and whether these are known to be most of all. */
function counted(shape: Shape): SQL {
  if (shape.count === 'remembered') return sql`select null::bigint as count, null::boolean as has_most`
  if (shape.count === 'kept')
    return sql`
  select coalesce(sum(records) filter (where ${inSets}), 0)::bigint as count,
    coalesce(2 * sum(records) filter (where ${inSets}) > sum(records), false) as has_most
  from export_counts where ${isCurrent(shape)}`
  if (shape.way !== 'either')
    return sql`
  select count(*) as count, false as has_most from found where ${isCurrent(shape)}`
  return sql`
  select case when count(*) <= ${mostSorted} then count(*) else (select count(*) from found) end as count, false as has_most
  from few`
}

/** The records of the page, and one more if there is one: that tells whether the count is right. */
function near(shape: Shape): SQL {
  const { sort, order, count, way, hasCursor, isWithinNames } = shape
  const cursor = sql`(${valueFor(shape, 'key', sort === 'certified_on' ? sql`date` : sql`text`)}, ${valueFor(shape, 'id')})`
  const nearIn = (from: SQL, condition: SQL) => sql`
  select * from ${from}
  where ${all([
    condition,
    ...(hasCursor ? [sql`(key, id) ${order === 'ASC' ? sql`>` : sql`<`} ${cursor}`] : []),
    ...(isWithinNames ? [sql`key >= ${nameOf(sql`min`)}`, sql`key <= ${nameOf(sql`max`)}`] : []),
  ])}
  order by ${inOrder(shape)}
  limit ${valueFor(shape, 'limit')} offset ${way === 'found' ? valueFor(shape, 'skip') : hidden('skip')}`
  const walk = sql`(${walked(shape)}
  ) as walked`
  if (way === 'found') return nearIn(sql`found`, isCurrent(shape))
  if (way === 'walked' && count === 'records')
    // Past the end of the list nothing is walked.
    return nearIn(walk, sql`${isCurrent(shape)} and (select count from counted) > ${valueFor(shape, 'skip')}`)
  if (way === 'walked') return nearIn(walk, isCurrent(shape))
  return sql`(${nearIn(sql`few`, sql`(select count from counted) <= ${mostSorted}`)}
  ) union all (${nearIn(walk, sql`(select count from counted) > ${mostSorted}`)}
  )`
}

/**
 * The first or the last sort key of the scope's products. Without these bounds, a walk by product_name passes up to all records
 * of other products. The key is that of any record. For an equality, the planner would look for it in the table.
 */
const nameOf = (bound: SQL): SQL => sql`(
    select ${bound}(name.key) from unnest(${SETS.products}) as product (id) cross join lateral (
      select ${r.productNameKey} as key from ${r} where ${r.productId} between product.id and product.id limit 1
    ) as name)`

function inOrder({ order }: Shape): SQL {
  return order === 'ASC' ? sql`key asc, id asc` : sql`key desc, id desc`
}

/**
 * A value in a sub-select. The planner does not take it from there: so one plan serves all values, and a large offset does not
 * make it sort a long list instead of walking along it.
 */
const hidden = (name: string, type = sql`bigint`): SQL => sql`(select ${sql.placeholder(name)}::${type})`

const valueFor = ({ isOfMost }: Shape, name: string, type = sql`bigint`): SQL =>
  isOfMost ? hidden(name, type) : sql`${sql.placeholder(name)}::${type}`

const when = (condition: boolean, part: SQL): SQL[] => (condition ? [part] : [])
