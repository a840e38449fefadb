import fc from 'fast-check'
import type { Sql } from 'postgres'
import { readPage } from '../../../src/assessments/page.ts'
import type { PageMemory } from '../../../src/assessments/page-memory.ts'
import type { Runner } from '../../../src/database/statement.ts'
import { sha256 } from '../../../src/random.ts'
import { listQuery } from '../../support/list-query.ts'
import { type Oracle, parseRequest, type Scope } from '../../support/oracle.ts'
import type { Answer } from './servers.ts'

/** The parameters of a list request, as a client sends them. */
export interface ListParameters {
  sort: (typeof SORTS)[number]
  order: (typeof ORDERS)[number]
  /** An index into FILTERS. */
  filter: number
  size: number
}

export const SORTS = ['certified_on', 'user_name', 'proctor_name', 'product_name'] as const
export const ORDERS = ['ASC', 'DESC'] as const

/** Every sort in both orders. */
export const SORTED = SORTS.flatMap(sort => ORDERS.map(order => ({ sort, order })))

/** Every sort in one of the orders, for tests that do not depend on the order. */
export const EACH_SORT = SORTS.map((sort, at) => ({ sort, order: ORDERS[at % 2] ?? 'ASC' }))

/** The first entries are no filter. */
export const FILTERS = [
  '',
  '',
  'filter[start_date]=2025-01-05',
  'filter[end_date]=2025-01-09',
  'filter[start_date]=2025-01-03&filter[end_date]=2025-01-11',
  'filter[user_ids][]=1&filter[user_ids][]=2&filter[user_ids][]=5',
  'filter[proctor_ids][]=3&filter[proctor_ids][]=4',
  'filter[seids][]=S-1&filter[seids][]=S-2',
  'filter[organization_ids][]=2&filter[organization_ids][]=6',
  'filter[organization_ids][]=6',
  'filter[product_ids][]=1&filter[product_ids][]=2',
  'filter[user_record_status][]=active',
  'filter[legacy_record][]=false',
  'filter[search]=EK',
  'filter[search]=an',
]

/** Half of the values are no filter. */
export const anyParameters = (size: fc.Arbitrary<number>): fc.Arbitrary<ListParameters> =>
  fc.record({
    sort: fc.constantFrom(...SORTS),
    order: fc.constantFrom(...ORDERS),
    filter: fc.oneof(fc.constant(0), fc.nat(FILTERS.length - 1)),
    size,
  })

/** The query string of a page. */
export function queryString({ sort, order, filter, size }: ListParameters, offset: number): string {
  return `sort=${sort}&order=${order}&page=${size}&offset=${offset}&${FILTERS[filter]}`
}

/** The expected body of a page. */
export function rightPage(oracle: Oracle, scope: Scope, parameters: ListParameters, offset: number): string {
  return oracle.list(scope, parseRequest(queryString(parameters, offset)))
}

/** The expected answer to a request for a single record. */
export function rightRecord(oracle: Oracle, scope: Scope, id: number): Answer {
  const body = oracle.document(scope, id)
  if (body !== undefined) return { status: 200, body }
  return { status: 404, body: '{"errors":[{"message":"Assessment not found"}]}' }
}

/** The digest of the token that issueTokens() makes for a scope. */
export const tokenOf = ({ organizations, products }: Scope) =>
  sha256(JSON.stringify([organizations, products]))

/** Makes an integration with a live token for each of these scopes that has none yet. */
export async function issueTokens(db: Sql, ...scopes: Scope[]): Promise<void> {
  for (const scope of scopes) {
    const digest = tokenOf(scope)
    await db`
      with integration as (
        insert into integrations (client_id, name, organization_ids, product_ids)
        values (${digest.slice(2)}, 'Scope', ${scope.organizations.map(String)}, ${scope.products.map(String)})
        on conflict (client_id) do nothing returning id
      ), secret as (
        insert into integration_secrets (integration_id, digest) select id, ${digest}::text::bytea from integration returning id
      )
      insert into access_tokens (digest, secret_id, expires_at)
      select ${digest}::text::bytea, id, now() + interval '1 hour' from secret`
  }
}

/** The body of a page as the service sends it, read without HTTP, with a token of issueTokens(). */
export async function readBody(
  db: Runner,
  memory: PageMemory,
  scope: Scope,
  parameters: ListParameters,
  offset: number,
): Promise<string> {
  const query = listQuery(queryString(parameters, offset))
  const page = await readPage({ db, memory, tokenDigest: tokenOf(scope), bounds: {} }, query)
  const { count, documents } = page
  return `{"data":[${Buffer.from(documents).toString()}],"meta":{"count":${count},"offset":${offset},"page":${parameters.size}}}`
}
