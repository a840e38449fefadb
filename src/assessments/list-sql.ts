import { type SQL, sql } from 'drizzle-orm'
import { exportPeople as people, exportRecords as r } from '../../db/schema.ts'
import { rowOf } from '../database/statement.ts'
import { allOf, conditionsOf, isNarrow } from './filters.ts'
import { hasScope, SOURCES, STATE } from './page-state.ts'
import { nameKeyOf, otherKeys } from './product-keys.ts'
import { areIn, GIVEN, isIn } from './scope.ts'
import {
  isFound,
  isNamed,
  isOfPerson,
  otherProducts,
  productsNamed,
  type Search,
  searchOf,
} from './search.ts'
import { type Counting, REACHES, type Shape } from './shape.ts'

/** The SQL of a count and of a page. test/assessments/statements has what the service sends. */

const bigint = (name: string) => sql`${sql.placeholder(name)}::bigint`

const inOrganizations = isIn('planned', 'organizations', sql`organization_id`)
const inProducts = isIn('planned', 'products', sql`product_id`)

/** The estimate of Postgres: how many records there were at the last ANALYZE. Their table is not read, and not locked. */
const ALL = sql`(
    select case when reltuples > 0 then reltuples::bigint else (select sum(records)::bigint from export_counts) end
    from pg_class where oid = 'export_records'::regclass
  )`

export const COUNT = rowOf({
  ...STATE,
  count: sql`counted.count`,
  ofScope: sql`kept.of_scope`,
  ofOrganizations: sql`kept.of_organizations`,
  // A row of a product costs ten entries of the organizations (COSTS): with more matches, these lead to them at less cost.
  ofProducts: sql`case when 10 * kept.of_scope < kept.of_organizations
    then (select coalesce(sum(records), 0)::bigint from export_counts where ${inProducts}) end`,
  all: ALL,
})

/**
 * Counts a list, if the token has the scope, and the records that lead to it, by the counts that writers keep. Those of 11 of
 * 2,000 organizations are found in 0.5 ms, all in 6. A list that is gathered in any case needs none.
 */
export function countSql(counting: Counting): SQL {
  const { source, filters, isExact } = counting
  const isOfScope = filters.length === 0 && !isExact
  const count = isOfScope
    ? sql`kept.of_scope`
    : sql`case when ${hasScope} then ${countOf(counting, sql`kept.of_organizations`)} end`
  return sql`
select ${COUNT.list}
from ${SOURCES[source]}
cross join lateral (
  select
    coalesce(sum(records) filter (where ${inProducts}), 0)::bigint as of_scope,
    coalesce(sum(records), 0)::bigint as of_organizations
  from export_counts where ${hasScope} and ${isNarrow(filters) ? sql`false` : inOrganizations}
) as kept
cross join lateral (select ${count} as count) as counted`
}

/** The kept count of the organizations' records, of any product. */
const ofAnyProduct = sql`(select coalesce(sum(records), 0)::bigint from export_counts where ${inOrganizations})`

/** Whether a list is counted by the counts that writers keep, so that its count may be wrong. */
export const isByKept = ({ filters, isExact }: Counting) =>
  !isExact && (filters.every(name => name === searchOf(filters)) || isFromDay(filters))

/** Whether a start_date is the only filter. */
const isFromDay = (filters: string[]) => filters.join() === 'start_date'

/** Whether a row is of the sets. An empty one is a constant, for which Postgres reads nothing: it would read all records. */
const inSets = sql`${areIn('planned', false, { organizationId: sql`organization_id`, productId: sql`product_id` })}
      and ${GIVEN.organizations} <> '{}' and ${GIVEN.products} <> '{}'`

/** The sum of counts that writers keep: 2 ms for 800,000 records, which take 64 ms to count. */
const kept = (more = sql`true`) =>
  sql`(select coalesce(sum(records), 0)::bigint from export_counts where ${inSets} and ${more})`

/**
 * The count of the records from a day on. Those before an early day are fewer: they are counted, and subtracted from the kept
 * count, which may be too low. Of 1,000,000 records, a service sends 35 first pages of new days a second instead of 28.
 * @param later counts the records from the day on
 */
function countFrom(later: SQL): SQL {
  const day = sql`${sql.placeholder('start_date')}::date`
  const middle = sql`(select min(certified_on) + (max(certified_on) - min(certified_on)) / 2 from ${r})`
  const earlier = sql`(select count(*) from ${r} where ${inSets} and ${r.certifiedOn} < ${day})`
  return sql`case when ${day} <= ${middle} then greatest(0, ${kept()} - ${earlier}) else ${later} end`
}

function countOf(counting: Counting, ofOrganizations: SQL): SQL {
  const { filters } = counting
  const search = searchOf(filters)
  const isKept = isByKept(counting)
  if (!search) {
    const all = counted(filters, sql`${r}`)
    if (!isKept) return all
    return isFromDay(filters) ? countFrom(all) : kept()
  }
  // A record is found by its product or by its person.
  const ofNamed = sql`product_id in (${productsNamed})`
  const byProduct = isKept ? kept(ofNamed) : counted(filters, sql`${r}`, ofNamed)
  return sql`${byProduct} + ${ofPeople(filters, search, isKept, ofOrganizations)}`
}

const counted = (filters: string[], from: SQL, ...more: SQL[]) =>
  sql`(select count(*) from ${from} where ${allOf([inSets, ...conditionsOf(filters), ...more])})`

/**
 * The records of the people that a search finds, but for those of products that it finds. A text too short for a trigram may
 * be in most names. So a sample of a hundredth of the people tells which of three ways reads least: the records of each
 * person found, one by one, or all of the other products or of the organizations, joined with these people. A person who has
 * three takes the time of four records of a join. Of 1,000,000 records, a letter of 55,000 people takes 310 ms and not 540.
 */
function ofPeople(filters: string[], search: Search, isKept: boolean, ofOrganizations: SQL): SQL {
  const joined = (...more: SQL[]) =>
    counted(filters, sql`${people} join ${r} on true`, isNamed(search), isOfPerson, ...more)
  // The planner begins with the few records of such a filter.
  if (isNarrow(filters)) return joined()
  // Of a join with all records, the planner expects a tenth of its real time.
  const byPerson = sql`(
      select count(*) from ${people} cross join lateral (
        select from ${r} where ${allOf([inSets, ...conditionsOf(filters), isOfPerson])} offset 0
      ) as each where ${isNamed(search)})`
  if (search === 'search') return byPerson
  return sql`(
    select case
      when 4 * found < least(of_products, of_organizations) then ${byPerson}
      when of_products < of_organizations then ${joined(sql`${r.productNameKey} = any (${otherKeys})`)}
      else ${joined()} end
    from (
      select 100 * count(*) as found from ${people} tablesample system (1) repeatable (0) where ${isNamed(search)}
    ) as sample, (
      select ${isKept ? ofOtherProducts : sql`null::bigint`} as of_products, ${ofOrganizations} as of_organizations offset 0
    ) as records)`
}

/** The kept count of the other products' records, of any organization. */
const ofOtherProducts = sql`(select coalesce(sum(records), 0)::bigint from export_counts where product_id in (select id from ${otherProducts}))`

export const PAGE = rowOf({
  ...STATE,
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
  // Without an offset, Postgres would count for each use of the count.
  const count = counting
    ? sql`case when ${hasScope} then ${countOf(counting, ofAnyProduct)} end as count offset 0`
    : sql`null::bigint as count`
  // One record more tells whether the list ends with a page that reaches its count. Sub-selects hide the values from the
  // planner: otherwise their plan seems so much cheaper that each page of a connection is planned, which takes 1 ms.
  const size = counting
    ? sql`${bigint('size')} + (counted.count = ${bigint('skip')} + ${bigint('size')})::integer`
    : sql`(select ${bigint('size')})`
  const skip = counting ? sql`least(${bigint('skip')}, counted.count)` : sql`(select ${bigint('skip')})`
  const last = sql`(array_agg(key))[count(*)]`
  const ids = (column: SQL) => (isRecorded ? sql`array_agg(${column})` : sql`null`)
  return sql`
select ${PAGE.list}
from ${SOURCES[shape.source]}
cross join lateral (select ${count}) as counted
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
function walked(shape: Shape): SQL {
  const { sort, order, filters, way, isEach, hasCursor, isBackward, isBounded, reach } = shape
  const [key, id] = [KEYS[sort], sql`${r.id}`]
  const inScope = areIn(shape.membership, shape.isByProduct, r)
  const isAscending = (order === 'ASC') !== isBackward
  // The record of the cursor comes before it. The planner does not look into sub-selects: one plan serves all values.
  const beyond = isAscending ? (isBackward ? sql`>=` : sql`>`) : isBackward ? sql`<=` : sql`<`
  const type = sort === 'certified_on' ? sql`date` : sql`text`
  const cursor = sql`((select ${sql.placeholder('key')}::${type}), (select ${bigint('id')}))`
  // The records of products outside the scope are adjacent in this order, up to a million before the first of the list, and
  // after the last. Of two bounds the planner would expect a two-hundredth of all records.
  const products = shape.membership === 'searched' ? sql`token.products` : GIVEN.products
  const name = (bound: SQL) => sql`(
          select ${bound}(${nameKeyOf(sql`product.id`)}) from unnest(${products}) as product (id))`
  const bound =
    isAscending === hasCursor ? sql`${key} <= ${name(sql`max`)}` : sql`${key} >= ${name(sql`min`)}`
  const bounds = sort === 'product_name' && isBounded ? [bound] : []
  const search = searchOf(filters)
  const found = search ? [isFound(search, isEach)] : []
  const fromCursor = hasCursor ? [sql`(${key}, ${id}) ${beyond} ${cursor}`] : []
  return sql`
        select ${id} as id, ${key} as key${way === 'dense' ? sql`, ${r.document}, ${r.userId}` : sql``}
        from ${r}
        where ${allOf([expected(inScope), ...conditionsOf(filters), ...found, ...bounds, ...fromCursor])}
        order by ${inOrder(isAscending, key, id)} limit ${REACHES[reach]}`
}

const KEYS = {
  certified_on: sql`${r.certifiedOn}`,
  user_name: sql`${r.userNameKey}`,
  proctor_name: sql`${r.proctorNameKey}`,
  product_name: sql`${r.productNameKey}`,
}

/** All matching records, sorted. */
function gathered(shape: Shape): SQL {
  const { sort, order, filters, way } = shape
  const search = searchOf(filters)
  const sources =
    filters.length === 0
      ? [ofSets(shape)]
      : search && way === 'gathered'
        ? ofNames(shape, search)
        : [ofFilters(shape)]
  const selects = sources.map(
    source => sql`
          select ${r.id} as id, ${KEYS[sort]} as key from ${source}`,
  )
  return sql`
        select id, key from (${sql.join(
          selects,
          sql`
          union all`,
        )} offset 0
        ) as found order by ${inOrder(order === 'ASC')}`
}

/** The records of each of `from`. In a join with all records, the planner may expect many and read every one. */
const ofEach = (from: SQL, all: SQL[]) => sql`${from}
          cross join lateral (
            select * from ${r} where ${allOf(all)} offset 0
          ) as ${r}`

/** Without filters: those of each organization or product. One plan serves all values, which are hidden as in pageSql(). */
function ofSets({ membership, isByProduct }: Shape): SQL {
  const [set, column] = isByProduct ? [GIVEN.products, r.productId] : [GIVEN.organizations, r.organizationId]
  const isOther = isByProduct
    ? isIn(membership, 'organizations', r.organizationId)
    : isIn(membership, 'products', r.productId)
  return ofEach(sql`unnest((select ${set})) as each (id)`, [sql`${column} = each.id`, expected(isOther)])
}

/** With a search: those of each product, and of each person, that it finds. */
function ofNames({ filters }: Shape, search: Search): SQL[] {
  const others = [expected(inSets), ...conditionsOf(filters)]
  const named = sql`(select * from ${people} where ${isNamed(search)}) as ${people}`
  return [
    ofEach(sql`(${productsNamed}) as named`, [sql`${r.productId} = named.product_id`, ...others]),
    ofEach(named, [isOfPerson, ...others]),
  ]
}

/** With other filters: those that the planner finds best for the values. */
function ofFilters({ filters }: Shape): SQL {
  const search = searchOf(filters)
  return sql`${r} where ${allOf([inSets, ...conditionsOf(filters), ...(search ? [isFound(search, true)] : [])])}`
}
