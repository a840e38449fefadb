import { beforeEach, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { requireAccess } from '../../../src/assessments/access.ts'
import { retrieveAssessment } from '../../../src/assessments/endpoints.ts'
import { PageMemory } from '../../../src/assessments/page-memory.ts'
import { sha256 } from '../../../src/random.ts'
import { holds } from '../../support/property.ts'
import { useDatabase } from './database.ts'
import { Explainer, types } from './explain.ts'

/** The rules of the database for valid tokens and secrets, and for the digest of a scope. */

const db = useDatabase()

describe('the scope digest', () => {
  const digest = async (organizations: bigint[], products: bigint[]): Promise<string> => {
    const [row] = await db.sql<{ digest: string }[]>`
      select scope_digest(${organizations.map(String)}::bigint[], ${products.map(String)}::bigint[]) as digest`
    return row?.digest ?? ''
  }

  const id = fc.oneof(fc.bigInt({ min: 0n, max: 12n }), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }))
  const ids = fc.uniqueArray(id, { maxLength: 6 })
  const scope = fc.tuple(ids, ids)

  test('is equal for equal sets, and different for all others', async () => {
    const seen = new Map<string, string>()
    const property = fc.asyncProperty(scope, async ([organizations, products]) => {
      const text = `${organizations.join()} ${products.join()}`
      const found = await digest(organizations, products)
      expect(seen.get(found) ?? text).toBe(text)
      seen.set(found, text)
      expect(await digest(organizations, products)).toBe(found)
    })
    await holds(property, { runs: 25, thorough: 200 })
  })

  test.each<[string, [bigint[], bigint[]], [bigint[], bigint[]]]>([
    ['an id in the other set', [[1n, 2n], [3n]], [[1n], [2n, 3n]]],
    ['the sets exchanged', [[1n], [2n]], [[2n], [1n]]],
    ['an empty set and the other one', [[1n], []], [[], [1n]]],
    ['one id and two with the same digits', [[12n], [3n]], [[1n, 2n], [3n]]],
    ['digits that go over to the next set', [[1n], [23n]], [[12n], [3n]]],
    ['a sign', [[1n], [1n]], [[-1n], [1n]]],
  ])('differs for %s', async (_, one, other) => {
    expect(await digest(...one)).not.toBe(await digest(...other))
  })

  test('is stored with every integration, for sorted sets without repeated ids, and follows every change', async () => {
    const { sql } = db
    await sql`
      insert into integrations (client_id, name, organization_ids, product_ids)
      values ('kept', 'K', '{7,null,-3,7,12}', '{2,1}')`
    const kept = async () =>
      (
        await sql`
          select organization_ids::text, product_ids::text, scope_digest from integrations where client_id = 'kept'`
      )[0]
    const digested = await digest([-3n, 7n, 12n], [1n, 2n])
    expect(await kept()).toEqual({
      organization_ids: '{-3,7,12}',
      product_ids: '{1,2}',
      scope_digest: digested,
    })
    await sql`update integrations set organization_ids = '{1}' where client_id = 'kept'`
    expect((await kept())?.scope_digest).toBe(await digest([1n], [1n, 2n]))
    await sql`update integrations set product_ids = '{}' where client_id = 'kept'`
    expect((await kept())?.scope_digest).toBe(await digest([1n], []))
  })
})

test('the sets of a scope of 900 ids are stored without compression', async () => {
  await db.sql`
    insert into integrations (client_id, name, organization_ids, product_ids)
    select 'large', 'L', array_agg(id), '{1}' from generate_series(1, 900) as id`
  const [row] = await db.sql<{ by: string | null }[]>`
    select pg_column_compression(organization_ids) as by from integrations where client_id = 'large'`
  expect(row?.by).toBeNull()
})

describe('a live secret and a live token', () => {
  const TOKEN = sha256('token')
  const SECRET = sha256('secret')

  const FILL = `
    insert into integrations (client_id, name, organization_ids, product_ids) values ('one', 'One', '{5,7}', '{9}'),
      ('other', 'Other', '{1}', '{2}');
    insert into integration_secrets (integration_id, digest)
      select id, case client_id when 'one' then sha256('secret') else sha256('another') end from integrations;
    insert into access_tokens (digest, secret_id, expires_at)
      select case digest when sha256('secret') then sha256('token') else sha256('anothers') end, id, now() + interval '1 minute'
      from integration_secrets`

  beforeEach(async () => {
    await db.sql.unsafe(`truncate integrations, integration_secrets, access_tokens restart identity; ${FILL}`)
  })

  const secret = async () => await db.sql`select * from live_secrets where digest = ${SECRET}::text::bytea`
  const token = async () => await db.sql`select * from live_tokens where digest = ${TOKEN}::text::bytea`
  const LIVE = { client_id: 'one', organization_ids: ['5', '7'], product_ids: ['9'] }

  test('have the client id and the scope of their integration in the view and the service', async () => {
    expect(await secret()).toMatchObject([LIVE])
    expect(await token()).toMatchObject([LIVE])
    expect(await requireAccess(db.sql, TOKEN)).toMatchObject({
      access: { clientId: 'one', scopeDigest: (await token())[0]?.scope_digest },
      sets: { organizations: '{5,7}', products: '{9}' },
    })
  })

  const DISABLED = 'update integrations set disabled_at ='
  test.each<[string, string, boolean, boolean]>([
    ['are found after their creation', 'select 1', true, true],
    ['are not found while the integration is disabled', `${DISABLED} now()`, false, false],
    ['are found after the integration is enabled again', `${DISABLED} now(); ${DISABLED} null`, true, true],
    [
      'are found within a grace',
      `update integration_secrets set expires_at = now() + interval '1 minute'`,
      true,
      true,
    ],
    ['are not found after a grace', 'update integration_secrets set expires_at = now()', false, false],
    [
      'differ after the token has expired: only the secret is live',
      'update access_tokens set expires_at = now()',
      true,
      false,
    ],
    ['differ after the token is deleted: only the secret is live', 'delete from access_tokens', true, false],
    ['are not found after the secret is deleted', 'delete from integration_secrets', false, false],
    ['are not found after the integration is deleted', 'delete from integrations', false, false],
    [
      'are found while another integration is disabled',
      `${DISABLED} now() where client_id = 'other'`,
      true,
      true,
    ],
  ])('%s', async (_, statement, isSecretLive, isTokenLive) => {
    await db.sql.unsafe(statement)
    expect((await secret()).length > 0).toBe(isSecretLive)
    expect((await token()).length > 0).toBe(isTokenLive)
    const status = await requireAccess(db.sql, TOKEN).then(
      () => 200,
      ({ httpStatus }) => httpStatus,
    )
    expect(status).toBe(isTokenLive ? 200 : 401)
  })

  const SECOND = `now() + interval '1 second'`
  const HOUR = `now() + interval '1 hour'`
  const ENDS = 'update integration_secrets set expires_at ='

  test.each<[string, string, boolean]>([
    ['ends with its secret', `${ENDS} now()`, false],
    ['ends with the time that its secret gets', `${ENDS} ${SECOND}; ${ENDS} now()`, false],
    [
      'does not live longer than its own time with a secret that lives on',
      `update access_tokens set expires_at = now(); ${ENDS} ${HOUR}`,
      false,
    ],
    ['is live again if its secret is given more time', `${ENDS} now(); ${ENDS} ${HOUR}`, true],
  ])('a token %s, by SQL of an operator', async (_, statement, isLive) => {
    await db.sql.unsafe(statement)
    expect((await token()).length > 0).toBe(isLive)
  })

  test('a token has the scope of the integration to which its secret was given', async () => {
    await db.sql`
      update integration_secrets set integration_id = (select id from integrations where client_id = 'other')`
    expect(await token()).toMatchObject([{ client_id: 'other', organization_ids: ['1'] }])
  })

  test('are joined without a hash table, also in tables that were vacuumed when they were empty', async () => {
    await db.sql`truncate integrations, integration_secrets, access_tokens restart identity`
    await db.sql`vacuum integrations, integration_secrets, access_tokens`
    await db.sql.unsafe(FILL)
    const explainer = Explainer.create(db.url)
    const sent = await explainer.explainSent(sql =>
      retrieveAssessment({ db: sql, memory: new PageMemory(), tokenDigest: TOKEN, bounds: {} }, '1'),
    )
    await explainer.end()
    const joins = types(sent.flatMap(({ whole }) => whole)).filter(type => /Loop|Join/.test(type))
    expect(joins).toEqual(['Nested Loop', 'Nested Loop', 'Nested Loop'])
  })

  test.each(['read committed', 'repeatable read', 'serializable'])(
    'end together in a transaction that is %s',
    async isolation => {
      await db.sql.begin(
        `isolation level ${isolation}`,
        sql => sql`update integration_secrets set expires_at = now()`,
      )
      expect([await secret(), await token()]).toEqual([[] as never, [] as never])
    },
  )

  test('a token whose secret was deleted gives nothing to a later secret with the same id', async () => {
    await db.sql.unsafe(`
      truncate integrations restart identity cascade;
      insert into integrations (client_id, name, organization_ids, product_ids) values ('one', 'One', '{5,7}', '{9}');
      insert into integration_secrets (integration_id, digest) select id, sha256('later') from integrations`)
    const same = db.sql`select from access_tokens t join integration_secrets s on s.id = t.secret_id`
    expect(await same).toHaveLength(1)
    expect(await token()).toHaveLength(0)
  })
})
