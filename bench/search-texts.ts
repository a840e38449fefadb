import type { Sql } from 'postgres'
import { inScope } from './scopes.ts'
import type { Scope } from './world.ts'

/** A text for a search. */
export interface SearchText {
  /** The kind of the text. It never contains the text, which may be a person's name. */
  name: string
  text: string
  /** The number of matching records in the scope. */
  matches: number
  /** Texts of the same kind. */
  others: string[]
  /** The limits in milliseconds for the first page with its count, and for the next pages. */
  reach: { first: number; next: number }
}

/** The number of records by which the frequency of texts is estimated. */
const SAMPLE = 5000

/** The names of a record that a search compares: first name, last name, product name. */
const NAMES = `
  select users.first_name, users.last_name, products.name
  from export_records
  join users on users.id = user_id
  join products on products.id = product_id`

/** A rare text, texts in one of a hundred and in one of five records, and two short texts. */
export async function searchTextsIn(sql: Sql, scope: Scope): Promise<SearchText[]> {
  const rows = await sql.unsafe<Record<string, string>[]>(
    `${NAMES} where ${inScope(scope)} order by hashint8(export_records.id) limit ${SAMPLE}`,
  )
  const seen = rows.map(row => Object.values(row).map(name => name.toLowerCase()))
  const words = shares(seen, name => name.match(/\p{L}{3,}/gu) ?? [])
  const single = shares(seen, name => name.match(/\p{L}/gu) ?? [])
  const pairs = shares(seen, name => [...name.matchAll(/(?=(\p{L}{2}))/gu)].map(([, pair]) => pair ?? ''))
  const chosen: [name: string, of: Map<string, number>, share: number, first: number, next: number][] = [
    ['rare', words, 0, 25, 12],
    ['typical', words, 0.01, 40, 12],
    ['common', words, 0.18, 300, 12],
    ['two letters', pairs, 0.2, 300, 60],
    ['a rare letter', single, 0.005, 300, 60],
  ]
  return await Promise.all(
    chosen.map(async ([name, of, share, first, next]) => {
      const [text = '', ...others] = nearest(of, share)
      return { name, text, others, matches: await count(sql, scope, text), reach: { first, next } }
    }),
  )
}

/** The texts in records, with the share of records that contain each text. */
function shares(seen: string[][], textsOf: (name: string) => string[]): Map<string, number> {
  const found = new Map<string, number>()
  for (const names of seen) {
    for (const text of new Set(names.flatMap(textsOf))) {
      found.set(text, (found.get(text) ?? 0) + 1 / seen.length)
    }
  }
  return found
}

/** All texts, sorted by the distance of their share from `share`. */
function nearest(of: Map<string, number>, share: number): string[] {
  const distance = (text: string) => Math.abs((of.get(text) ?? 0) - share)
  return [...of.keys()].sort((a, b) => distance(a) - distance(b) || (a < b ? -1 : 1))
}

async function count(sql: Sql, scope: Scope, text: string): Promise<number> {
  const [row] = await sql.unsafe<{ count: number }[]>(
    `select count(*)::integer as count from (${NAMES} where ${inScope(scope)}) as names (first, last, product)
     where concat_ws(E'\\n', first, last, product) ilike '%' || $1 || '%'`,
    [text],
  )
  return row?.count ?? 0
}
