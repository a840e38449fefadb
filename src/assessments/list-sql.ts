import { type SQL, sql } from 'drizzle-orm'
import {
  disclosureState,
  exportVersion,
  exportPeople as people,
  exportRecords as r,
} from '../../db/schema.ts'
import type { Order, Sort } from '../contract.ts'
import { rowOf } from '../database/statement.ts'
import { ACCESS } from './access.ts'
import { allOf, conditionsOf } from './filters.ts'
import { GIVEN_SETS, SETS_OF_TOKEN } from './scope.ts'
import { isNamed, productsNamed, searchOf } from './search.ts'

/** The SQL of a count and of a page. test/assessments/statements has what the service sends. */

const bigint = (name: string) => sql`${sql.placeholder(name)}::bigint`

/**
 * The row of the live token, with what the database says of the moment: the version of the export, and whether disclosures
 * are recorded. The copies of the sets are decompressed once, and not for each record.
 */
const TOKEN = sql`(
  select client_id, scope_digest, organization_ids, product_ids,
    organization_ids || '{}' as organizations, product_ids || '{}' as products,
    (select ${exportVersion.version} from ${exportVersion}) as version,
    (select ${disclosureState.isOn} from ${disclosureState}) as recording
  from live_tokens where digest = ${sql.placeholder('token')}::bytea offset 0
) as token`

/** The same at a standby, for a scope that the primary has read: access and recording are values, the version is its own. */
const SCOPE = sql`(
  select ${sql.placeholder('client')}::text as client_id, ${sql.placeholder('scope')}::text as scope_digest,
    ${GIVEN_SETS.organizations} as organization_ids, ${GIVEN_SETS.products} as product_ids,
    ${GIVEN_SETS.organizations} as organizations, ${GIVEN_SETS.products} as products,
    (select ${exportVersion.version} from ${exportVersion}) as version,
    ${sql.placeholder('recording')}::boolean as recording
  offset 0
) as token`

const MOMENT = { ...ACCESS, version: sql`token.version`, recording: sql`token.recording` }
const hasScope = sql`token.scope_digest = ${sql.placeholder('scope')}`

/** What gives the scope: the live token, or at a standby the values that the primary has read. */
export type Source = 'token' | 'scope'

const SOURCES: Record<Source, SQL> = { token: TOKEN, scope: SCOPE }

/** What the primary says before a page is read at a standby. */
export const NOW = rowOf(MOMENT)
export const NOW_SQL = sql`
select ${NOW.list}
from ${TOKEN}`

/** How a list is counted, beside its filters. */
export interface Counting {
  source: Source
  filters: string[]
  /** Whether the search is for one letter, which most people have in their names. */
  isLetter: boolean
  /** Whether the records themselves are counted: writes past the triggers make kept counts wrong. */
  isExact: boolean
}

export const COUNT = rowOf({
  ...MOMENT,
  count: sql`counted.count`,
  ofScope: sql`counted.of_scope`,
  all: sql`(select reltuples from pg_class where oid = 'export_records'::regclass)`,
})

/** Counts a list, if the token has the scope. */
export function countSql(counting: Counting): SQL {
  return sql`
select ${COUNT.list}
from ${SOURCES[counting.source]}
cross join lateral (
  select case when ${hasScope} then ${countOf(counting)} end as count, case when ${hasScope} then ${kept()} end as of_scope
) as counted`
}

/** An empty set is a constant here, for which Postgres reads nothing. Otherwise it would read all records. */
const inSets = sql`${GIVEN_SETS.isIn(GIVEN_SETS.organizations, sql`organization_id`)}
      and ${GIVEN_SETS.isIn(GIVEN_SETS.products, sql`product_id`)}
      and ${GIVEN_SETS.organizations} <> '{}' and ${GIVEN_SETS.products} <> '{}'`

/** The sum of counts that writers keep: 2 ms for 800,000 records, which take 64 ms to count. */
const kept = (more = sql`true`) =>
  sql`(select coalesce(sum(records), 0)::bigint from export_counts where ${inSets} and ${more})`

function countOf({ filters, isLetter, isExact }: Counting): SQL {
  const search = searchOf(filters)
  const others = filters.filter(name => name !== search)
  const isKept = others.length === 0 && !isExact
  const counted = (from: SQL, condition: SQL) =>
    sql`(select count(*) from ${from} where ${allOf([inSets, ...conditionsOf(others), condition])})`
  if (!search) return isKept ? kept() : counted(sql`${r}`, sql`true`)
  // A record is found by its product or by its person.
  const ofNamed = sql`product_id in (${productsNamed})`
  const byProduct = isKept ? kept(ofNamed) : counted(sql`${r}`, sql`${r.productId} in (${productsNamed})`)
  // Each person's by themselves: of a join that reads every record, the planner expects a tenth of its time.
  const byPeople = isLetter
    ? counted(sql`${people} join ${r} on true`, sql`${isNamed(search)} and ${isOfPerson}`)
    : sql`(
    select coalesce(sum(each.count), 0) from ${people} cross join lateral (
      select ${counted(sql`${r}`, isOfPerson)} as count
    ) as each where ${isNamed(search)})`
  return sql`${byProduct} + ${byPeople}`
}

/** Whether a record is found by a person alone, and not by its product, too. */
const isOfPerson = sql`${r.userId} = ${people.userId} and coalesce(${r.productId} not in (${productsNamed}), true)`

/** Literals: for a parameter Postgres would sort a tenth of all records. */
const REACHES = { 1e3: sql`1000`, 1e5: sql`100000`, 1e7: sql`10000000`, 1e9: sql`1000000000` }
export type Reach = keyof typeof REACHES

/** What the text of a page depends on. */
export interface Shape {
  source: Source
  sort: Sort
  order: Order
  filters: string[]
  /**
   * - gathered: all matches are found by their filter, and sorted.
   * - gathered in scope: the same, but a search looks at each record of the scope.
   * - walked: along the index of the sort, to the ids of the page; then their documents are read.
   * - dense: the same, but documents are read on the way, because most of them are sent.
   */
  way: 'gathered' | 'gathered in scope' | 'walked' | 'dense'
  /** Whether the walk begins at a cursor, or at an end of the list. */
  hasCursor: boolean
  /** Whether it goes against the order. */
  isBackward: boolean
  /** Whether it may come to the records before the first or after the last of the list. */
  isAtEnd: boolean
  /** No less than what is skipped and read. */
  reach: Reach
  /** Whether the sets are values, which are narrowed and found faster. Otherwise those of the token are read. */
  hasSets: boolean
  /** Whether disclosures are recorded, as remembered. */
  isRecorded: boolean
  /** How the list is counted in the snapshot of the page, whatever its version. Otherwise its count is remembered. */
  counting?: Counting
}

export const PAGE = rowOf({
  ...MOMENT,
  count: sql`counted.count`,
  documents: sql`page.documents`,
  size: sql`page.size`,
  /** Of the last record. A date is ISO, whatever the DateStyle: a later page is read from it. */
  lastKey: sql`page.last_key`,
  lastId: sql`page.last_id`,
  assessments: sql`page.assessments`,
  people: sql`page.people`,
})

/** Reads a page: nothing of it if the scope, the version or the recording of disclosures is another one than remembered. */
export function pageSql(shape: Shape): SQL {
  const { sort, order, way, isBackward, isRecorded, counting } = shape
  const isAsRemembered = counting
    ? hasScope
    : sql`${hasScope} and token.version = ${sql.placeholder('version')}::uuid and token.recording = ${isRecorded ? sql`true` : sql`false`}`
  const count = counting ? sql`case when ${hasScope} then ${countOf(counting)} end` : sql`null::bigint`
  // One record more tells whether the list ends with a page that reaches its count.
  const size = counting
    ? sql`${bigint('size')} + (counted.count = ${bigint('skip')} + ${bigint('size')})::integer`
    : bigint('size')
  const skip = counting ? sql`least(${bigint('skip')}, counted.count)` : bigint('skip')
  const last = sql`(array_agg(key))[count(*)]`
  const ids = (column: SQL) => (isRecorded ? sql`array_agg(${column})` : sql`null`)
  return sql`
select ${PAGE.list}
from ${SOURCES[shape.source]}
cross join lateral (select ${count} as count) as counted
cross join lateral (
  select
    string_agg(document, ',') as documents,
    count(*) as size,
    ${sort === 'certified_on' ? sql`to_char(${last}, 'YYYY-MM-DD')` : last} as last_key,
    (array_agg(id))[count(*)] as last_id,
    ${ids(sql`id`)} as assessments,
    ${ids(sql`user_id`)} as people
  from (
    select id, key, ${way === 'dense' ? sql`document, user_id` : ofRecord(isRecorded)}
    from (
      select * from (${way === 'walked' || way === 'dense' ? walked(shape) : gathered(shape)}
      ) as near
      where ${isAsRemembered}
      limit ${size} offset ${skip}
    ) as page${isBackward ? sql` order by ${inOrder(order === 'ASC')}` : sql``}
  ) as page
) as page`
}

/** What a page shows of a record whose id is known. */
function ofRecord(isRecorded: boolean): SQL {
  const of = (column: SQL) => sql`(select ${column} from ${r} where ${r.id} = page.id)`
  const document = sql`${of(sql`document`)} as document`
  return isRecorded ? sql`${document}, ${of(sql`user_id`)} as user_id` : document
}

const inOrder = (isAscending: boolean, key = sql`key`, id = sql`id`) =>
  isAscending ? sql`${key} asc, ${id} asc` : sql`${key} desc, ${id} desc`

/** The planner expects half of the records, and no index of the columns. Otherwise it would expect few, and sort all. */
const expected = (condition: SQL) => sql`coalesce(${condition}, false)`

/** The matching records from the cursor or the end on, along the index of the sort. */
function walked({ sort, order, filters, way, hasCursor, isBackward, isAtEnd, reach, hasSets }: Shape): SQL {
  const sets = hasSets ? GIVEN_SETS : SETS_OF_TOKEN
  const [key, id] = [KEYS[sort], sql`${r.id}`]
  const inScope = sql`${sets.isIn(sets.products, r.productId)} and ${sets.isIn(sets.organizations, r.organizationId)}`
  const isAscending = (order === 'ASC') !== isBackward
  // The record of the cursor comes before it. The planner does not look into sub-selects: one plan serves all values.
  const beyond = isAscending ? (isBackward ? sql`>=` : sql`>`) : isBackward ? sql`<=` : sql`<`
  const type = sort === 'certified_on' ? sql`date` : sql`text`
  const cursor = sql`((select ${sql.placeholder('key')}::${type}), (select ${bigint('id')}))`
  // The records of products outside the scope are adjacent in this order, up to a million before the first of the list.
  const name = (bound: SQL) => sql`(
          select ${bound}(name) from unnest(${sets.products}) as product (id)
          cross join lateral (select ${key} as name from ${r} where ${r.productId} = product.id limit 1) as named)`
  const bounds =
    sort === 'product_name' && isAtEnd ? [sql`${key} between ${name(sql`min`)} and ${name(sql`max`)}`] : []
  const fromCursor = hasCursor ? [sql`(${key}, ${id}) ${beyond} ${cursor}`] : []
  return sql`
        select ${id} as id, ${key} as key${way === 'dense' ? sql`, ${r.document}, ${r.userId}` : sql``}
        from ${r}
        where ${allOf([expected(inScope), ...conditionsOf(filters), ...bounds, ...fromCursor])}
        order by ${inOrder(isAscending, key, id)} limit ${REACHES[reach]}`
}

const KEYS = {
  certified_on: sql`${r.certifiedOn}`,
  user_name: sql`${r.userNameKey}`,
  proctor_name: sql`${r.proctorNameKey}`,
  product_name: sql`${r.productNameKey}`,
}

/** All matching records, sorted. */
function gathered({ sort, order, filters, way }: Shape): SQL {
  const search = way === 'gathered in scope' ? undefined : searchOf(filters)
  const others = conditionsOf(filters.filter(name => name !== search))
  const columns = sql`${r.id} as id, ${KEYS[sort]} as key`
  // The records of each product or person. In a join with all, the planner may expect many and read every record.
  const ofEach = (from: SQL, condition: SQL) => sql`
          select ${columns} from ${from}
          cross join lateral (
            select * from ${r} where ${allOf([condition, expected(inSets), ...others])} offset 0
          ) as ${r}`
  const found = search
    ? sql`${ofEach(sql`(${productsNamed}) as named`, sql`${r.productId} = named.product_id`)}
          union all${ofEach(sql`(select * from ${people} where ${isNamed(search)}) as ${people}`, isOfPerson)}`
    : sql`
          select ${columns} from ${r} where ${allOf([inSets, ...others])}`
  return sql`
        select id, key from (${found} offset 0
        ) as found order by ${inOrder(order === 'ASC')}`
}
