import type { Sql } from 'postgres'
import { inScope, type Scope } from './scopes.ts'

/** Texts for searches of one kind. */
interface SearchTexts {
  name: string
  texts: string[]
}

/** The number of records by which the frequency of texts is estimated. */
const SAMPLE = 5000

/** Rare words, words in one of five records, pairs of letters in one of five, and letters, the most frequent first. */
export async function searchTextsIn(sql: Sql, scope: Scope): Promise<SearchTexts[]> {
  const rows = await sql.unsafe<Record<string, string>[]>(
    `select users.first_name, users.last_name, products.name
     from export_records join users on users.id = user_id join products on products.id = product_id
     where ${inScope(scope)} order by hashint8(export_records.id) limit ${SAMPLE}`,
  )
  const seen = rows.map(row => Object.values(row).map(name => name.toLowerCase()))
  const words = shares(seen, name => name.match(/\p{L}{3,}/gu) ?? [])
  const pairs = shares(seen, name => [...name.matchAll(/(?=(\p{L}{2}))/gu)].map(([, pair]) => pair ?? ''))
  const letters = shares(seen, name => name.match(/\p{L}/gu) ?? [])
  return [
    { name: 'rare', texts: nearest(words, 0) },
    { name: 'common', texts: nearest(words, 0.2) },
    { name: 'two letters', texts: nearest(pairs, 0.2) },
    { name: 'one letter', texts: nearest(letters, 1) },
  ]
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
