import { type SQL, sql } from 'drizzle-orm'
import { exportChanges as changes, disclosureState, exportRecords as r } from '../../db/schema.ts'
import { type RawRow, rawStatement, rowOf, type Statement } from '../postgres/statement.ts'
import { ACCESS } from './access.ts'
import { isInRead, organizationSet, productSet, type ScopeSet, tokenOf, type Values } from './conditions.ts'
import { areLogged, isLaterThanOlder, NEWEST, newest } from './mark.ts'
import type { Run } from './page-plan.ts'
import { type Around, type Beside, inOrder, isInConstant, recordsBeside } from './records.ts'

/** What the text of a page statement depends on. */
export interface Shape extends Beside {
  /** The sets of the scope that the request narrows. */
  narrowed: ScopeSet[]
  reach: Reach
  /** Whether the sets that are read are given as values. Otherwise they are read with the token. */
  hasSets: boolean
  /** Whether records are read only if what is remembered holds now: see isFresh(). */
  isGuarded: boolean
  /** Whether the ids that a disclosure records are returned. */
  isRecorded: boolean
}

/** Literals: for a parameter Postgres would sort a tenth of all records. Few, because each makes a text to prepare. */
const REACHES = { 1000: sql`1000`, 100000: sql`100000`, 10000000: sql`10000000`, 1000000000: sql`1000000000` }
export type Reach = keyof typeof REACHES
const NEAR = 1000

/** The least reach for the records that a run skips and reads. */
export function reachOf({ skip, size }: Omit<Run, 'side'>): Reach {
  const distance = skip + size
  return distance <= NEAR ? NEAR : distance <= 1e5 ? 100000 : distance <= 1e7 ? 10000000 : 1000000000
}

const prepared = new Map<string, Statement<Values, RawRow>>()

/** Statements of a walk are prepared, with one generic plan. Filters make 24,000 texts, planned for their values. */
export function pageStatement(shape: Shape): Statement<Values, RawRow> {
  if (shape.hasSets || !isOfWalk(shape)) return rawStatement(pageSql(shape), false)
  const { sort, order, way, side, hasCursor, isGuarded, isRecorded, narrowed } = shape
  const key = [sort, order, way, side, hasCursor, isGuarded, isRecorded, ...narrowed].join(' ')
  return prepared.getOrInsertComputed(key, () => rawStatement(pageSql(shape)))
}

/** Whether a statement is one of a walk, of which there are few texts. */
export const isOfWalk = ({ filters, reach }: Pick<Shape, 'filters' | 'reach'>) =>
  filters.length === 0 && reach === NEAR

/** The columns of a page. */
export const PAGE = rowOf({
  ...ACCESS,
  /** Whether the guard holds; if not, nothing was read. */
  isFresh: sql`is_fresh`,
  ...NEWEST,
  /** The documents, joined by commas. */
  documents: sql`documents`,
  size: sql`size`,
  /** The sort key and the id of the last of them. */
  lastKey: sql`last_key`,
  lastId: sql`last_id`,
  /** The ids of the records and of their educators, if disclosures are recorded. */
  assessments: sql`assessment_ids`,
  people: sql`user_ids`,
})

const value = sql.placeholder
const nothing = sql``

/** The statement of a run of records: one snapshot. test/assessments/statements has two. */
export function pageSql(shape: Shape): SQL {
  const { way, isGuarded, isRecorded, side, order } = shape
  return sql`
with token as materialized (
  select *, ${isGuarded ? isFresh(shape) : sql`true`} as is_fresh
  from (${tokenOf(shape.hasSets ? [] : shape.narrowed)} offset 0) as token
)
select ${PAGE.list}
from token${newest}
cross join (
  select
    string_agg(document, ',') as documents,
    count(*) as size,
    (array_agg(key))[count(*)] as last_key,
    (array_agg(id))[count(*)] as last_id,
    ${isRecorded ? sql`array_agg(id)` : sql`null`} as assessment_ids,
    ${isRecorded ? sql`array_agg(user_id)` : sql`null`} as user_ids
  from (
    select id, key, ${way === 'whole' ? sql`document, user_id` : ofRecord(isRecorded)}
    from (
      select * from (${recordsBeside(shape, aroundOf(shape))}
      ) as near where (select is_fresh from token) limit ${value('size')}::bigint offset ${value('skip')}::bigint
    ) as page${side === 'before' ? sql` order by ${inOrder(order === 'ASC')}` : nothing}
  ) as page
) as page`
}

/** What a page shows of a record whose id was found in an index. */
function ofRecord(isRecorded: boolean): SQL {
  const of = (column: SQL) => sql`(select ${column} from ${r} where ${r.id} = page.id)`
  const document = sql`${of(sql`document`)} as document`
  return isRecorded ? sql`${document}, ${of(sql`user_id`)} as user_id` : document
}

/** For sets that are values, Postgres makes a hash table when it plans. */
function aroundOf(shape: Shape): Around {
  const common = {
    distance: sql`${value('size')}::bigint + ${value('skip')}::bigint`,
    reach: REACHES[shape.reach],
  }
  if (!shape.hasSets)
    return { ...common, sets: { organizations: organizationSet, products: productSet }, isIn: isInRead }
  const sets = {
    organizations: sql`${value('organizations')}::bigint[]`,
    products: sql`${value('products')}::bigint[]`,
  }
  return { ...common, sets, isIn: isInConstant }
}

/**
 * Whether what is remembered holds now: of this scope, with marks that the log has, and nothing that concerns the scope
 * has been logged since the older mark, among 50 rows at most. Of a row without a delta only the organization is known; a
 * delta of 0 changes no list.
 */
function isFresh({ isRecorded, hasCursor }: Shape): SQL {
  return sql`scope_digest = ${value('scope')}
    and (select is_on from ${disclosureState}) = ${isRecorded ? sql`true` : sql`false`}
    and ${areLogged(hasCursor)}
    and not exists (
      select from (
        select *, row_number() over (order by position) as number
        from ${changes} where ${isLaterThanOlder(hasCursor)} order by position limit 51
      ) as later
      where number > 50 or case
        when delta is null then organization_id is null or organization_id = any (organizations)
        when delta = 0 then false
        else organization_id = any (organizations) and product_id = any (products) end
    )`
}
