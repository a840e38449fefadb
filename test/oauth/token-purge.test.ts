import { describe, expect, test } from 'bun:test'
import type { Sql } from 'postgres'
import { rotateSecret } from '../../src/integrations/rotate.ts'
import { purgeEndedSecrets, purgeExpiredTokens } from '../../src/oauth/tokens.ts'
import { getList, newToken, provision, useTwoServices } from '../support/operator.ts'
import { BACKENDS } from '../support/service.ts'

/** Every token's digest, as text. */
const digests = async (sql: Sql) =>
  (await sql`select digest::text from access_tokens order by digest`).map(row => row.digest as string)

const digestOf = (token: string) => `\\x${new Bun.CryptoHasher('sha256').update(token).digest('hex')}`

const expire = (sql: Sql, tokens: string[]) => sql`
  update access_tokens set expires_at = now() where digest::text = any (${tokens.map(digestOf)})`

describe.each([...BACKENDS])('the purge, on %s', backend => {
  const services = useTwoServices(backend)

  test('deletes the secrets whose grace is over with their tokens, and those alone', async () => {
    const [ended, inGrace] = [await provision(services.sql), await provision(services.sql)]
    const endedToken = await newToken(services.baseUrls[0], ended)
    const inGraceToken = await newToken(services.baseUrls[0], inGrace)
    const renewed = await rotateSecret(services.sql, ended.clientId, { graceSeconds: 60 })
    await rotateSecret(services.sql, inGrace.clientId, { graceSeconds: 60 })
    const renewedToken = await newToken(services.baseUrls[0], renewed)
    await services.sql`
      update integration_secrets s set expires_at = now()
      from integrations i
      where i.id = s.integration_id and i.client_id = ${ended.clientId} and s.expires_at is not null`
    const secrets = async () =>
      (await services.sql`select id from integration_secrets order by id`).map(row => row.id as string)
    const [first, ...rest] = await secrets()
    const tokens = await digests(services.sql)

    await purgeEndedSecrets(services.sql)
    expect(await secrets()).toEqual(rest)
    expect(first).toBeDefined()
    expect(await digests(services.sql)).toEqual(tokens.filter(digest => digest !== digestOf(endedToken)))
    for (const token of [inGraceToken, renewedToken]) {
      expect(await getList(services.baseUrls[1], token)).toMatchObject({ status: 200 })
    }
    await purgeEndedSecrets(services.sql)
    expect(await secrets()).toEqual(rest)
  })

  test('deletes expired tokens, at most as many at a time as it is told, and no others', async () => {
    const integration = await provision(services.sql)
    const tokens: string[] = []
    for (const _ of Array(6)) tokens.push(await newToken(services.baseUrls[0], integration))
    const live = await digests(services.sql)
    const expired = tokens.slice(0, 5)
    await expire(services.sql, expired)
    const deleted = []
    for (const _ of Array(4)) deleted.push((await purgeExpiredTokens(services.sql, 2)).count)
    expect(deleted).toEqual([2, 2, 1, 0])
    const gone = new Set(expired.map(digestOf))
    expect(await digests(services.sql)).toEqual(live.filter(digest => !gone.has(digest)))
    expect(await getList(services.baseUrls[0], tokens[5] as string)).toMatchObject({ status: 200 })
  })
})
