import { expect } from 'bun:test'
import { tryList } from '../../support/http.ts'
import { Oracle, type Scope } from '../../support/oracle.ts'
import type { Platform } from '../../support/oracle-records.ts'
import { SCOPE } from './small-platform.ts'

const SORTS = ['certified_on', 'user_name', 'proctor_name', 'product_name']

/** The queries of walks through a small platform in every order: first the last page, then page after page. */
const WALKS = SORTS.flatMap(sort =>
  ['ASC', 'DESC'].flatMap(order =>
    [200, 0, 100, 200].map(offset => ({ sort, order, offset: String(offset) })),
  ),
)

/** Checks that every page in every order, with its count, is the oracle's answer for `platform`. */
export async function expectServed(
  baseUrl: string,
  token: string,
  platform: Platform,
  scope: Scope = SCOPE,
): Promise<void> {
  const oracle = new Oracle(platform)
  for (const query of WALKS) await compare(baseUrl, token, oracle, query, scope)
}

/** Checks that the first page in the default order is the oracle's answer for `platform`. */
export async function expectPage(baseUrl: string, token: string, platform: Platform): Promise<void> {
  await compare(baseUrl, token, new Oracle(platform), {}, SCOPE)
}

async function compare(
  baseUrl: string,
  token: string,
  oracle: Oracle,
  parameters: { sort?: string; order?: string; offset?: string },
  scope: Scope,
): Promise<void> {
  const query = { page: '100', ...parameters }
  const { status, text } = await tryList(baseUrl, token, query)
  expect({ query, status, text }).toEqual({
    query,
    status: 200,
    text: oracle.list(scope, { ...query, lists: {} }),
  })
}
