import type { Sql } from 'postgres'
import { LIST } from './client.ts'

/** What an integration may read: ids as decimal strings. */
export interface Scope {
  organizations: string[]
  products: string[]
}

/** What the service has to answer for as long as it holds. */
export interface Truth {
  /** In the default order, so as a walk finds them. */
  ids: number[]
  /** Queries with a filter or an order that may be asked beside walks. */
  queries: string[]
  /** Whether a 200 to a path is right. */
  accepts(path: string, text: string): boolean
  has(id: number): boolean
}

/** Pages of a walk are this long. */
export const PAGE = 100

/** A question with a page of its own, and the plain SQL that says what belongs on it. */
interface Question {
  query: string
  where: string
  order: string
}

const BY_DATE = 'r.certified_on, r.id'

const QUESTIONS: Question[] = [
  { query: 'filter[user_record_status][]=archived', where: `u.record_status = 'archived'`, order: BY_DATE },
  { query: 'filter[legacy_record][]=true', where: 'a.legacy_record', order: BY_DATE },
  { query: 'filter[start_date]=2026-01-01', where: `r.certified_on >= '2026-01-01'`, order: BY_DATE },
  {
    query: 'filter[search]=ar',
    where: `concat_ws(E'\\n', u.first_name, u.last_name, p.name) ilike '%ar%'`,
    order: BY_DATE,
  },
  { query: 'order=desc', where: 'true', order: 'r.certified_on desc, r.id desc' },
  { query: 'sort=product_name', where: 'true', order: `lower(p.name collate "und-x-icu") collate "C", r.id` },
]

/** The data as they are now, byte for byte, by plain SQL on the source tables. */
export async function truthOf(sql: Sql, scope: Scope): Promise<Truth> {
  const all = await select(sql, scope, { query: '', where: 'true', order: BY_DATE })
  const ids = all.map(({ id }) => id)
  const documents = all.map(({ document }) => document)
  const byId = new Map(all.map(({ id, document }) => [id, document]))
  const byQuery = new Map<string, string>()
  for (const question of QUESTIONS) {
    const found = await select(sql, scope, question)
    if (found.length === 0) throw new Error(`nothing matches ${question.query}: it proves nothing`)
    const page = found.slice(0, 50).map(({ document }) => document)
    byQuery.set(question.query, list(page, { count: found.length, offset: 0, page: 50 }))
  }
  const expected = (path: string) => {
    const [, offset] = /&offset=(\d+)$/.exec(path) ?? []
    if (offset !== undefined) {
      const start = Number(offset)
      return list(documents.slice(start, start + PAGE), { count: ids.length, offset: start, page: PAGE })
    }
    const [resource = '', query] = path.split('?')
    return query === undefined ? byId.get(Number(resource.slice(LIST.length + 1))) : byQuery.get(query)
  }
  return {
    ids,
    queries: [...byQuery.keys()],
    accepts: (path, text) => expected(path) === text,
    has: id => byId.has(id),
  }
}

const list = (documents: string[], meta: object) =>
  `{"data":[${documents.join()}],"meta":${JSON.stringify(meta)}}`

/** Rendered from the source tables, by their view; which records, and in which order, is said here. */
async function select(
  sql: Sql,
  { organizations, products }: Scope,
  { where, order }: Question,
): Promise<{ id: number; document: string }[]> {
  const rows = await sql.unsafe<{ id: string; document: string }[]>(
    `select r.id, r.document
     from export_records_rendered r
     join assessments a on a.id = r.id
     join users u on u.id = a.user_id
     join products p on p.id = a.product_id
     where a.organization_id = any ($1::bigint[]) and a.product_id = any ($2::bigint[]) and (${where})
     order by ${order}`,
    [`{${organizations.join()}}`, `{${products.join()}}`],
  )
  return rows.map(({ id, document }) => ({ id: Number(id), document }))
}
