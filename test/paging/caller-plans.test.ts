import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { PageMemory } from '../../src/assessments/page-memory.ts'
import { selectDocument, selectVersions } from '../../src/assessments/queries.ts'
import { findCaller } from '../../src/oauth/tokens.ts'
import type { Runner } from '../../src/postgres/statement.ts'
import { Explainer, type IdScope, read } from './explain.ts'
import { type ManyRecords, ORGANIZATIONS, openManyRecords, PRODUCTS_35 } from './many-records.ts'

/** How the database goes about who asks, a single record, and the versions of a scope. */

let many: ManyRecords
let explainer: Explainer
/** 400 of 500 organizations and 35 of 40 products. */
let broad: IdScope

beforeAll(async () => {
  many = await openManyRecords()
  // As many integrations and live tokens as make a look through all of them dear.
  await many.sql.unsafe(`
    insert into integrations (client_id, name, organization_ids, product_ids)
    select 'client' || n, 'Client ' || n, '{1,2,3}', '{1,2}' from generate_series(1, 2000) n;
    insert into integration_secrets (integration_id, digest)
    select id, sha256(client_id::bytea) from integrations;
    insert into access_tokens (digest, secret_id, expires_at)
    select sha256(('token' || n)::bytea), s.id, now() + interval '1 hour'
    from integration_secrets s cross join generate_series(1, 5) m, lateral (select s.id * 10 + m as n) as numbered;
    analyze integrations, integration_secrets, access_tokens, organization_versions`)
  explainer = await Explainer.create(many.url, many.sql)
  // The look-up is planned once a connection, and a planner looks into indexes, too.
  await explainer.scansOf(sql => findCaller(sql, Buffer.alloc(32)))
  const organizations = many.organizations.filter((_, at) => at % 5 !== 0)
  broad = { organizationIds: organizations.map(row => row.id), productIds: PRODUCTS_35 }
})
afterAll(async () => {
  await explainer?.end()
  await many?.close()
})

describe('who asks is found by three keys and nothing else', () => {
  const token = () => Buffer.from(new Bun.CryptoHasher('sha256').update('token1001').digest())
  const BY_KEYS = [
    { table: 'access_tokens', all: 0, byIndex: 1 },
    { table: 'integration_secrets', all: 0, byIndex: 1 },
    { table: 'integrations', all: 0, byIndex: 1 },
  ]

  test('with a page', async () => {
    const scans = await explainer.scansOf(sql => read(sql, new PageMemory(), broad, {}, token()))
    expect(scans.filter(scan => BY_KEYS.some(({ table }) => table === scan.table))).toEqual(BY_KEYS)
  })

  test('with a single record, which is found by its key, in one statement', async () => {
    const [row] = await many.sql<{ id: string }[]>`
      select id from export_records where organization_id = 1 and product_id = 1 limit 1`
    for (const [id, isThere] of [
      [row?.id ?? '', true],
      ['999999999', false],
    ] as const) {
      const work = async (sql: Runner) => {
        const found = await selectDocument(sql, token(), id)
        expect(found?.caller).toMatch(/^[0-9a-f]{64}$/)
        expect(found?.document !== null).toBe(isThere)
      }
      expect(await explainer.explainSent(work)).toHaveLength(1)
      expect(await explainer.scansOf(work)).toEqual([
        ...BY_KEYS.slice(0, 1),
        { table: 'export_records', all: 0, byIndex: 1 },
        ...BY_KEYS.slice(1),
      ])
    }
  })

  test('when nothing is known of the token', async () => {
    const scans = await explainer.scansOf(async sql => {
      expect((await findCaller(sql, token()))?.clientId).toMatch(/^client\d+$/)
    })
    expect(scans).toEqual(BY_KEYS)
  })

  test('when nobody has such a token, by one', async () => {
    const scans = await explainer.scansOf(async sql => {
      expect(await findCaller(sql, Buffer.alloc(32))).toBeUndefined()
    })
    expect(scans).toEqual(BY_KEYS.slice(0, 1))
  })
})

test('the versions of 400 organizations are asked of a table of 500 rows and of no record', async () => {
  const organizations = `{${broad.organizationIds.join()}}`
  const [explained] = await explainer.explainSent(sql => selectVersions(sql, organizations))
  const relations = (explained?.whole ?? []).flatMap(node => node['Relation Name'] ?? [])
  expect(relations.sort()).toEqual(['export_state', 'organization_versions'])
  for (const node of explained?.whole ?? [])
    expect(node['Actual Rows'] * node['Actual Loops']).toBeLessThanOrEqual(ORGANIZATIONS)
})
