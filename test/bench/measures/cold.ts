import type { Sql } from 'postgres'
import { filtered } from '../paths.ts'
import { broadScope } from '../scopes.ts'
import { searchTextsIn } from '../search-texts.ts'
import { type Figures, type Measure, median } from '../turns.ts'

/** Days of one round. */
const DAYS = 24

/** Texts of each kind in one round. */
const TEXTS = 3

/** First pages of lists that nobody has asked for before: from a new day on, and of a new search, with their counts. */
export const cold: Measure = {
  name: 'cold',
  async prepare(side) {
    const scope = await broadScope(side.sql)
    const days = await daysIn(side.sql)
    const kinds = await searchTextsIn(side.sql, scope)
    const { load } = await side.serve(scope)
    const first = (filter: string, values: string[], count: number) =>
      Array.from({ length: count }, () => filtered(filter, takeNext(values)))
    const round = async () => {
      const { requests, seconds } = await load({ paths: first('filter[start_date]', days, DAYS) })
      const figures: Figures = { 'a new start_date each, first pages a second': requests / seconds }
      for (const { name, texts } of kinds) {
        const paths = first('filter[search]', texts, TEXTS)
        figures[`a new search each, ${name}, ms`] = median((await load({ paths, connections: 1 })).latencies)
      }
      return figures
    }
    await round()
    return round
  },
}

/** The next one, which goes to the end: it comes again after all others. */
function takeNext(values: string[]): string {
  const value = values.shift() ?? ''
  values.push(value)
  return value
}

/** The days on which assessments were completed, in an order that is no order of time. */
async function daysIn(sql: Sql): Promise<string[]> {
  const rows = await sql<{ day: string }[]>`
    select day::text from (select distinct certified_on as day from export_records) as days order by hashtext(day::text)`
  return rows.map(({ day }) => day)
}
