import type { Sql } from 'postgres'
import { inScope, type Scope } from './scopes.ts'

/** A text for a search, and others of the same kind. */
export interface SearchText {
  name: string
  text: string
  others: string[]
}

/** The number of records by which the frequency of texts is estimated. */
const SAMPLE = 5000

/** A rare text, texts in one of a hundred and in one of five records, and two short texts. */
export async function searchTextsIn(sql: Sql, scope: Scope): Promise<SearchText[]> {
  const rows = await sql.unsafe<Record<string, string>[]>(
    `select users.first_name, users.last_name, products.name
     from export_records join users on users.id = user_id join products on products.id = product_id
     where ${inScope(scope)} order by hashint8(export_records.id) limit ${SAMPLE}`,
  )
  const seen = rows.map(row => Object.values(row).map(name => name.toLowerCase()))
  const words = shares(seen, name => name.match(/\p{L}{3,}/gu) ?? [])
  const single = shares(seen, name => name.match(/\p{L}/gu) ?? [])
  const pairs = shares(seen, name => [...name.matchAll(/(?=(\p{L}{2}))/gu)].map(([, pair]) => pair ?? ''))
  const chosen: [name: string, of: Map<string, number>, share: number][] = [
    ['rare', words, 0],
    ['typical', words, 0.01],
    ['common', words, 0.18],
    ['two letters', pairs, 0.2],
    ['a rare letter', single, 0.005],
  ]
  return chosen.map(([name, of, share]) => {
    const [text = '', ...others] = nearest(of, share)
    return { name, text, others }
  })
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
