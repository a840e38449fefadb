import { describe, expect, test } from 'bun:test'
import { type Credentials, rotateSecret } from '../../src/integrations/credentials.ts'
import { setDisabled } from '../../src/integrations/lifecycle.ts'
import { reportIntegration } from '../../src/integrations/report.ts'
import { rule } from '../contract/support/rule.ts'
import { newToken, provision, requestToken, useTwoServices } from '../support/operator.ts'
import { expectAlive as expectAliveAt, expectUnknown } from './standing.ts'

const DAY = 86_400

describe('a rotation', () => {
  const services = useTwoServices()
  const rotated = ({ clientId }: Credentials, options: { graceSeconds?: number; force?: boolean } = {}) =>
    rotateSecret(services.otherSql, clientId, options)

  /** Moves the end of the grace into the past. */
  const graceOver = ({ clientId }: Credentials) => services.sql`
    update integration_secrets s set expires_at = now() - interval '1 second'
    from integrations i
    where i.id = s.integration_id and i.client_id = ${clientId} and s.expires_at is not null`

  /** The secrets, the oldest first; grace in seconds after the creation of the next secret. */
  const secretsOf = async ({ clientId }: Credentials) => [
    ...(await services.sql<{ isOver: boolean; grace: number | null; expiresAt: string | null }[]>`
      select
        coalesce(s.expires_at <= now(), false) as "isOver",
        extract(epoch from s.expires_at - lead(s.created_at) over (order by s.id))::int as grace,
        to_char(s.expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as "expiresAt"
      from integration_secrets s join integrations i on i.id = s.integration_id
      where i.client_id = ${clientId} order by s.id`),
  ]

  const liveSecrets = async (integration: Credentials) =>
    (await secretsOf(integration)).filter(secret => !secret.isOver).length

  const expectAlive = (credentials: Credentials, tokens: string[]) =>
    expectAliveAt(services.baseUrls, credentials, tokens)
  const expectEnded = (credentials: Credentials, tokens: string[]) =>
    expectUnknown(services.baseUrls, credentials, tokens)

  test(
    rule('without grace ends the old secret and all its tokens immediately, on every service', 'T9'),
    async () => {
      const old = await provision(services.sql)
      const tokens = await Promise.all(services.baseUrls.map(baseUrl => newToken(baseUrl, old)))
      await expectAlive(old, tokens)
      const renewed = await rotated(old)
      expect(renewed.oldSecretExpiresAt).toBeNull()
      await expectEnded(old, tokens)
      await expectAlive(renewed, [await newToken(services.baseUrls[1], renewed)])
      expect(await secretsOf(old)).toHaveLength(1)
    },
  )

  test('keeps the client id, and makes a unique secret of 43 letters and digits that the database cannot reveal', async () => {
    const old = await provision(services.sql)
    const secrets = new Set([old.clientSecret])
    for (const _ of Array(3)) {
      const { clientId, clientSecret } = await rotated(old)
      expect(clientId).toBe(old.clientId)
      expect(clientSecret).toMatch(/^[A-Za-z0-9]{43}$/)
      secrets.add(clientSecret)
    }
    expect(secrets.size).toBe(4)
    const rows = JSON.stringify(await services.sql`select s::text as row from integration_secrets s`)
    for (const secret of secrets)
      for (const form of ['utf8', 'hex'] as const)
        expect(rows).not.toContain(Buffer.from(secret).toString(form))
  })

  test('does not affect other integrations', async () => {
    const [one, other] = [await provision(services.sql), await provision(services.sql)]
    const token = await newToken(services.baseUrls[0], other)
    await rotated(one)
    await rotated(one, { graceSeconds: DAY })
    await expectAlive(other, [token])
  })

  test('with grace ends the old secret that long after the creation of the new one, and returns the time', async () => {
    const old = await provision(services.sql)
    const renewed = await rotated(old, { graceSeconds: 90 })
    const [former, present] = await secretsOf(old)
    expect(former).toEqual({ isOver: false, grace: 90, expiresAt: renewed.oldSecretExpiresAt })
    expect(present).toEqual({ isOver: false, grace: null, expiresAt: null })
  })

  test('with grace ends the old secret and all its tokens at the end of the grace', async () => {
    const old = await provision(services.sql)
    const before = await newToken(services.baseUrls[0], old)
    const renewed = await rotated(old, { graceSeconds: DAY })
    const during = await newToken(services.baseUrls[1], old)
    const renewedToken = await newToken(services.baseUrls[1], renewed)
    await expectAlive(old, [before, during, renewedToken])
    await graceOver(old)
    await expectEnded(old, [before, during])
    await expectAlive(renewed, [renewedToken])
    const { secrets, live_tokens } = await reportIntegration(services.sql, old.clientId)
    expect(secrets.map(secret => secret.expires_at)).toEqual([null])
    expect(live_tokens).toBe(secrets[0]?.live_tokens ?? 0)
  })

  test('is refused during another grace with the secret that would end, and changes nothing', async () => {
    const old = await provision(services.sql)
    const token = await newToken(services.baseUrls[0], old)
    const renewed = await rotated(old, { graceSeconds: DAY })
    const renewedToken = await newToken(services.baseUrls[0], renewed)
    const before = await secretsOf(old)
    const line = (what: string) =>
      `the older secret works until ${renewed.oldSecretExpiresAt} (live tokens: 1), ` +
      `and rotating now would end ${what} at once: wait, or repeat with --force`
    await expect(rotated(old, { graceSeconds: DAY })).rejects.toThrow(line('it'))
    await expect(rotated(old)).rejects.toThrow(line('both secrets'))
    expect(await secretsOf(old)).toEqual(before)
    await expectAlive(old, [token])
    await expectAlive(renewed, [renewedToken])
  })

  test('with grace and force during another grace ends the oldest secret immediately and starts a new grace', async () => {
    const first = await provision(services.sql)
    const firstToken = await newToken(services.baseUrls[0], first)
    const second = await rotated(first, { graceSeconds: DAY })
    const secondToken = await newToken(services.baseUrls[0], second)
    const third = await rotated(first, { graceSeconds: 3600, force: true })
    await expectEnded(first, [firstToken])
    await expectAlive(second, [secondToken])
    await expectAlive(third, [await newToken(services.baseUrls[1], third)])
    expect((await secretsOf(first)).map(secret => secret.grace)).toEqual([3600, null])
    await graceOver(first)
    await expectEnded(second, [secondToken])
    await expectAlive(third, [])
  })

  test('with force and without grace during another grace ends both secrets and all their tokens immediately', async () => {
    const first = await provision(services.sql)
    const firstToken = await newToken(services.baseUrls[0], first)
    const second = await rotated(first, { graceSeconds: DAY })
    const secondToken = await newToken(services.baseUrls[0], second)
    const third = await rotated(first, { force: true })
    expect(third.oldSecretExpiresAt).toBeNull()
    await expectEnded(first, [firstToken, secondToken])
    await expectEnded(second, [])
    await expectAlive(third, [])
    expect(await secretsOf(first)).toHaveLength(1)
  })

  test('needs no force after the previous grace has ended', async () => {
    const first = await provision(services.sql)
    const second = await rotated(first, { graceSeconds: DAY })
    await graceOver(first)
    const third = await rotated(first, { graceSeconds: DAY })
    await expectEnded(first, [])
    await expectAlive(second, [])
    await expectAlive(third, [])
    await graceOver(first)
    await expectAlive(await rotated(first), [])
    expect(await secretsOf(first)).toHaveLength(1)
  })

  test('leaves a disabled integration disabled', async () => {
    const old = await provision(services.sql)
    await setDisabled(services.sql, old.clientId, true)
    const renewed = await rotated(old, { graceSeconds: DAY })
    await expectEnded(renewed, [])
    await setDisabled(services.sql, old.clientId, false)
    await expectAlive(renewed, [])
    await expectAlive(old, [])
  })

  test('concurrent with another one leaves at most two secrets, and one of the new ones works', async () => {
    for (const options of [{}, { force: true }, { graceSeconds: DAY }, { graceSeconds: DAY, force: true }]) {
      const integration = await provision(services.sql)
      const attempts = await Promise.allSettled([
        rotateSecret(services.sql, integration.clientId, options),
        rotateSecret(services.otherSql, integration.clientId, options),
      ])
      const handedOut = attempts.flatMap(attempt => (attempt.status === 'fulfilled' ? [attempt.value] : []))
      const refusals = attempts.flatMap(attempt =>
        attempt.status === 'rejected' ? [String(attempt.reason)] : [],
      )
      // With grace and without force, the second rotation is refused because of the first one's grace.
      expect(handedOut).toHaveLength('graceSeconds' in options && !('force' in options) ? 1 : 2)
      for (const refusal of refusals) expect(refusal).toContain('a rotation is under way')
      const answers = await Promise.all(handedOut.map(c => requestToken(services.baseUrls[0], c)))
      expect(answers.map(answer => answer.status)).toContain(200)
      expect(await liveSecrets(integration)).toBe('graceSeconds' in options ? 2 : 1)
    }
  })
})
