import { count, sql } from 'drizzle-orm'
import type { Sql } from 'postgres'
import { disclosures as d } from '../../db/schema.ts'
import { orm, rowsOf } from '../database/orm.ts'
import { conditionOf, historyOf, periodOf, type Question } from './question.ts'
import { type SearchProgress, slices } from './slices.ts'

/** An integration with its name and purpose at that time, and its disclosures. Times are ISO 8601 in UTC. */
export interface Shown {
  client_id: string
  name: string
  purpose: string | null
  /** Answers, each of which may have shown several records. */
  times: number
  first: string
  last: string
}

/** Answers that one statement searches: enough work for several processes of the server. */
const SLICE = 100_000

/**
 * The integrations with answers that match a question, the one with the latest answer first. An integration whose name or
 * purpose changed is listed once for each.
 * @param onProgress called after each slice
 * @param size answers in a slice
 * @throws Failure for a client id that no integration ever had
 */
export async function integrationsShown(
  db: Sql,
  question: Question,
  onProgress: (progress: SearchProgress) => void = () => {},
  size = SLICE,
): Promise<Shown[]> {
  const history = await historyOf(db, question)
  const groups = new Map<string, Group>()
  for await (const slice of slices(db, await periodOf(db, question), size)) {
    const found = await orm(db)
      .select({
        history: d.historyId,
        times: count(),
        first: sql<string>`min(${d.at})::text`,
        last: sql<string>`max(${d.at})::text`,
      })
      .from(d)
      .where(conditionOf(question, history, slice))
      .groupBy(d.historyId)
    for (const group of found) {
      const { first, times } = groups.get(group.history) ?? { first: group.first, times: 0 }
      groups.set(group.history, { ...group, first, times: times + group.times })
    }
    onProgress(slice.progress)
  }
  return await named(db, [...groups.values()])
}

/** The answers for one row of the history of integrations; times as Postgres prints them. */
interface Group {
  history: string
  times: number
  first: string
  last: string
}

/** Adds name and purpose, which several rows of the history may share. */
async function named(db: Sql, groups: Group[]): Promise<Shown[]> {
  const rows = await rowsOf<{ shown: Shown }>(
    db,
    sql`
    select json_build_object(
      'client_id', h.client_id,
      'name', h.name,
      'purpose', h.purpose,
      'times', sum(g.times),
      'first', to_char(min(g.first) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
      'last', to_char(max(g.last) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
    ) as shown
    from json_to_recordset(${JSON.stringify(groups)}::text::json)
      as g (history bigint, times bigint, first timestamptz, last timestamptz)
    join integration_history h on h.id = g.history
    group by h.client_id, h.name, h.purpose
    order by max(g.last) desc, h.client_id, h.name, h.purpose`,
  )
  return rows.map(({ shown }) => shown)
}
