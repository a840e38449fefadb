import { type SQL, sql } from 'drizzle-orm'
import { disclosureState, exportRecords as r } from '../../db/schema.ts'
import { type RawRow, rawStatement, rowOf, type Statement } from '../postgres/statement.ts'
import { ACCESS } from './access.ts'
import { changesSince } from './changes.ts'
import { isInRead, organizationSet, productSet, type ScopeSet, tokenOf, type Values } from './conditions.ts'
import { areLogged, NEWEST, newest } from './mark.ts'
import type { Run } from './page-plan.ts'
import { type Around, type Beside, inOrder, isInConstant, recordsBeside } from './records.ts'

/** What the text of a page statement depends on. */
export interface Shape extends Beside {
  /** The sets of the scope that the request narrows. */
  narrowed: ScopeSet[]
  reach: Reach
  /** Whether the sets that are read are given as values. Otherwise they are read with the token. */
  hasSets: boolean
  /** Whether the page is read from what is remembered, if that can be corrected: see isKnown(). */
  isRemembered: boolean
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
  const { sort, order, way, side, hasCursor, isRemembered, isRecorded, narrowed } = shape
  const key = [sort, order, way, side, hasCursor, isRemembered, isRecorded, ...narrowed].join(' ')
  return prepared.getOrInsertComputed(key, () => rawStatement(pageSql(shape)))
}

/** Whether a statement is one of a walk, of which there are few texts. */
export const isOfWalk = ({ filters, reach }: Pick<Shape, 'filters' | 'reach'>) =>
  filters.length === 0 && reach === NEAR

/** The columns of a page. */
export const PAGE = rowOf({
  ...ACCESS,
  /** Whether what is remembered can be corrected; if not, nothing was read. */
  isKnown: sql`is_known`,
  /** How many more records match than at the mark of the count, and how many of these come up to the entry. */
  counted: sql`counted`,
  moved: sql`moved`,
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
  const { way, isRemembered, isRecorded, side, order } = shape
  return sql`
with token as materialized (
  select *, ${isRemembered ? isKnown(shape) : sql`true`} as is_known
  from (${tokenOf(shape.hasSets ? [] : shape.narrowed)} offset 0) as token
  cross join lateral (${isRemembered ? changesSince(shape) : sql`select 0 as counted, 0 as moved`}
  ) as changed
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
      ) as near where (select is_known from token) limit ${value('size')}::bigint offset ${skipped(shape)}
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
    distance: sql`${value('size')}::bigint + ${skipped(shape)}`,
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

/** The records that are skipped: what changed up to the entry has moved the page away from it. As shifted() says. */
function skipped({ isRemembered, side }: Shape): SQL {
  const skip = sql`${value('skip')}::bigint`
  const moved = sql`(select moved from token)`
  return isRemembered ? sql`greatest(0, ${skip} ${side === 'after' ? sql`-` : sql`+`} ${moved})` : skip
}

/** Whether what is remembered is of this scope, with marks that the log has, and only single records changed since. */
function isKnown({ isRecorded, hasCursor }: Shape): SQL {
  return sql`scope_digest = ${value('scope')}
    and (select is_on from ${disclosureState}) = ${isRecorded ? sql`true` : sql`false`}
    and ${areLogged(hasCursor)} and not is_summary`
}
