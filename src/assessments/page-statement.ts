import { type SQL, sql } from 'drizzle-orm'
import { exportRecords as r } from '../../db/schema.ts'
import { type RawRow, rawStatement, rowOf, type Statement } from '../database/statement.ts'
import { ACCESS } from './access.ts'
import { changesSince } from './changes.ts'
import type { Values } from './constraints.ts'
import { joinNewest, NEWEST } from './mark.ts'
import type { Run } from './page-arithmetic.ts'
import { type Beside, inOrder, recordsBeside } from './records.ts'
import { GIVEN_SETS, liveToken, type ScopeSet, SETS_OF_TOKEN } from './scope.ts'

/** What the text of a page statement depends on. */
export interface Shape extends Beside {
  /** The sets of the scope that the request narrows. */
  narrowed: ScopeSet[]
  reach: Reach
  /** Whether the sets that are read are given as values. Otherwise they are read with the token. */
  hasSets: boolean
  /** Whether the page is planned from what is remembered, and read as far as that can be corrected. */
  isRemembered: boolean
  /** Whether the ids that a disclosure records are returned. */
  isRecorded: boolean
}

/** Literals: for a parameter Postgres would sort a tenth of all records. */
const REACHES = { 1000: sql`1000`, 100000: sql`100000`, 10000000: sql`10000000`, 1000000000: sql`1000000000` }
type Reach = keyof typeof REACHES
const NEAR = 1000

/** The least reach for the records that a run skips and reads. */
export function reachOf({ skip, size }: Omit<Run, 'side'>): Reach {
  const distance = skip + size
  return distance <= NEAR ? NEAR : distance <= 1e5 ? 100000 : distance <= 1e7 ? 10000000 : 1000000000
}

const prepared = new Map<string, Statement<Values, RawRow>>()

/** Statements of a walk are prepared, with one generic plan. Filters make 24,000 texts, planned for their values. */
export function pageStatement(shape: Shape): Statement<Values, RawRow> {
  if (!isOfWalk(shape)) return rawStatement(pageSql(shape), false)
  const { sort, order, way, side, hasCursor, isRemembered, isRecorded, narrowed } = shape
  const key = [sort, order, way, side, hasCursor, isRemembered, isRecorded, ...narrowed].join(' ')
  return prepared.getOrInsertComputed(key, () => rawStatement(pageSql(shape)))
}

/** Whether a statement is one of a walk, of which there are few texts. */
export const isOfWalk = ({ filters, reach }: Pick<Shape, 'filters' | 'reach'>) =>
  filters.length === 0 && reach === NEAR

const COLUMNS = {
  ...ACCESS,
  documents: sql`documents`,
  size: sql`size`,
  /** The sort key and the id of the last of them. A date is ISO, whatever the DateStyle: a later page is read from it. */
  lastKey: sql`last_key`,
  lastId: sql`last_id`,
  /** The ids of the records and of their educators, if disclosures are recorded. */
  assessments: sql`assessment_ids`,
  people: sql`user_ids`,
}
const SNAPSHOT = rowOf(COLUMNS)

/** The columns of a page that is planned from what is remembered. Those of another page are the first of them. */
export const PAGE = rowOf({
  ...COLUMNS,
  isCorrectable: sql`is_correctable`,
  counted: sql`counted`,
  moved: sql`moved`,
  ...NEWEST,
})

/** The statement that reads a run of records, from one snapshot. test/assessments/statements has two of them. */
export function pageSql(shape: Shape): SQL {
  const { narrowed, hasSets, isRemembered, isRecorded, sort } = shape
  const token = liveToken(hasSets ? [] : narrowed)
  const since = sql`
cross join lateral (${changesSince(shape, isRecorded)}
) as since${joinNewest}`
  const last = sql`(array_agg(key))[count(*)]`
  return sql`
select ${(isRemembered ? PAGE : SNAPSHOT).list}
from (
  ${token} offset 0
) as token${isRemembered ? since : nothing}
cross join lateral (
  select
    string_agg(document, ',') as documents,
    count(*) as size,
    ${sort === 'certified_on' ? sql`to_char(${last}, 'YYYY-MM-DD')` : last} as last_key,
    (array_agg(id))[count(*)] as last_id,
    ${isRecorded ? sql`array_agg(id)` : sql`null`} as assessment_ids,
    ${isRecorded ? sql`array_agg(user_id)` : sql`null`} as user_ids
  from (${runSql(shape)}
  ) as page
) as page`
}

const nothing = sql``

/** The select of the records of the run, in the order of the page. */
function runSql(shape: Shape): SQL {
  const { way, side, order, isRemembered, isRecorded } = shape
  const [sets, reach] = [shape.hasSets ? GIVEN_SETS : SETS_OF_TOKEN, REACHES[shape.reach]]
  const size = sql`${sql.placeholder('size')}::bigint`
  const planned = sql`${sql.placeholder('skip')}::bigint`
  // As shifted() says: what has changed up to the entry has moved the page away from it, or toward it.
  const shiftedSkip = sql`${planned} ${side === 'after' ? sql`-` : sql`+`} moved`
  const skip = isRemembered ? sql`greatest(0, ${shiftedSkip})` : planned
  const isRead = isRemembered ? sql` where is_correctable and ${shiftedSkip} >= 0` : nothing
  return sql`
    select id, key, ${way === 'whole' ? sql`document, user_id` : ofRecord(isRecorded)}
    from (
      select * from (${recordsBeside(shape, sets, sql`${size} + ${skip}`, reach)}
      ) as near${isRead}
      limit ${size} offset ${skip}
    ) as page${side === 'before' ? sql` order by ${inOrder(order === 'ASC')}` : nothing}`
}

/** What a page shows of a record whose id was found in an index. */
function ofRecord(isRecorded: boolean): SQL {
  const of = (column: SQL) => sql`(select ${column} from ${r} where ${r.id} = page.id)`
  const document = sql`${of(sql`document`)} as document`
  return isRecorded ? sql`${document}, ${of(sql`user_id`)} as user_id` : document
}
