import { LIST } from '../../../support/http.ts'
import { Oracle, parseRequest, type Scope } from '../../../support/oracle.ts'
import type { Platform } from '../../../support/oracle-records.ts'

/** The right answers of the service for one state of the data. */
export interface Truth {
  /** The ids in the default order, as a walk finds them. */
  ids: number[]
  /** Queries with a filter or an order, for requests besides walks. */
  queries: string[]
  /** Whether the body of a 200 to a path is right, byte for byte. */
  accepts(path: string, text: string): boolean
  has(id: number): boolean
}

/** The size of the pages of a walk. */
export const PAGE = 100

const QUERIES = [
  'filter[user_record_status][]=archived',
  'filter[legacy_record][]=true',
  'filter[start_date]=2026-01-01',
  'filter[search]=ar',
  'order=desc',
  'sort=product_name',
]

/** The truth of a platform's data. */
export function truthOf(platform: Platform, scope: Scope): Truth {
  const oracle = new Oracle(platform)
  for (const query of QUERIES) {
    const { length } = oracle.documents(scope, parseRequest(query))
    if (length === 0) throw new Error(`no record matches ${query}, so the query would test nothing`)
  }
  const answer = answersOf(oracle, scope)
  return {
    ids: oracle.documents(scope, parseRequest('')).map(text => (JSON.parse(text) as { id: number }).id),
    queries: QUERIES,
    accepts: (path, text) => answer(path) === text,
    has: id => oracle.document(scope, id) !== undefined,
  }
}

/** A function that returns the right body of a 200 to a path, or undefined if the path has no 200. */
export function answersOf(oracle: Oracle, scope: Scope): (path: string) => string | undefined {
  return path => {
    const [resource = '', query] = path.split('?')
    if (query !== undefined) return oracle.list(scope, parseRequest(query))
    return oracle.document(scope, Number(resource.slice(LIST.length + 1)))
  }
}
