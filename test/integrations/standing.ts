import { expect } from 'bun:test'
import type { Credentials } from '../../src/integrations/credentials.ts'
import { getList, ids, requestToken, UNKNOWN_SECRET, UNKNOWN_TOKEN } from '../support/operator.ts'

/** The ids of assessments that an integration with a scope of all of WORLD gets. */
export const EVERYTHING = [9001, 9002, 9003]

/** Checks that the credentials get tokens from every service, and that every service accepts the tokens. */
export async function expectAlive(
  baseUrls: readonly string[],
  credentials: Credentials,
  tokens: readonly string[],
): Promise<void> {
  for (const baseUrl of baseUrls) {
    expect(await requestToken(baseUrl, credentials)).toMatchObject({ status: 200 })
    for (const token of tokens) expect(ids(await getList(baseUrl, token))).toEqual(EVERYTHING)
  }
}

/** Checks that every service answers as for unknown credentials and tokens. */
export async function expectUnknown(
  baseUrls: readonly string[],
  credentials: Credentials,
  tokens: readonly string[],
): Promise<void> {
  for (const baseUrl of baseUrls) {
    const unknownClient = await requestToken(baseUrl, UNKNOWN_SECRET)
    expect(unknownClient).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
    expect(await requestToken(baseUrl, credentials)).toEqual(unknownClient)
    const unknownToken = await getList(baseUrl, UNKNOWN_TOKEN)
    expect(unknownToken).toMatchObject({ status: 401, body: { error: 'invalid_token' } })
    for (const token of tokens) expect(await getList(baseUrl, token)).toEqual(unknownToken)
  }
}
