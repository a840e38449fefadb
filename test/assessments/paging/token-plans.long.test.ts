import { beforeAll, describe, expect, test } from 'bun:test'
import type { Sql } from 'postgres'
import { requireAccess } from '../../../src/assessments/access.ts'
import { retrieveAssessment } from '../../../src/assessments/endpoints.ts'
import { PageMemory } from '../../../src/assessments/page-memory.ts'
import type { Runner } from '../../../src/database/statement.ts'
import { sha256 } from '../../../src/random.ts'
import type { Scope } from '../../support/oracle.ts'
import { read } from './explain.ts'
import { scopeOf, useManyRecords } from './many-records.ts'

/** The plans for looking up a token and a single record. */

const many = useManyRecords()
/** A scope of 400 of 500 organizations and 35 of 40 products. */
let broad: Scope
/** Of no token. */
const NOBODYS = sha256('')

beforeAll(async () => {
  // So many integrations and live tokens that a scan of all would be expensive.
  await many.database.sql.unsafe(`
    insert into integrations (client_id, name, organization_ids, product_ids)
    select 'client' || n, 'Client ' || n, '{1,2,3}', '{1,2}' from generate_series(1, 2000) n;
    insert into integration_secrets (integration_id, digest)
    select id, sha256(client_id::bytea) from integrations;
    insert into access_tokens (digest, secret_id, expires_at)
    select sha256(('token' || n)::bytea), s.id, now() + interval '1 hour'
    from integration_secrets s cross join generate_series(1, 5) m, lateral (select s.id * 10 + m as n) as numbered;
    analyze integrations, integration_secrets, access_tokens`)
  // Each connection plans the look-ups first, and the planner reads indexes as well.
  for (let time = 0; time < 10; time++) {
    await many.explainer.scansOf(sql => requireAccess(sql, NOBODYS).catch(() => {}))
    await many.explainer.scansOf(sql =>
      retrieveAssessment({ db: sql, memory: new PageMemory(), tokenDigest: NOBODYS, bounds: {} }, '1').catch(
        () => {},
      ),
    )
  }
  const organizations = many.organizations.filter((_, at) => at % 5 !== 0)
  broad = (await scopeOf(many, organizations)).scope
})

describe('a token is looked up by three keys', () => {
  const token = () => sha256('token1001')
  const BY_KEYS = [
    { table: 'access_tokens', all: 0, byIndex: 1 },
    { table: 'integration_secrets', all: 0, byIndex: 1 },
    { table: 'integrations', all: 0, byIndex: 1 },
  ]

  test('in the one statement of a page of which something is remembered', async () => {
    const memory = new PageMemory()
    const page = (sql: Sql) => read(sql, memory, broad, {}, token())
    // The first reads of a statement are planned, too.
    for (let time = 0; time < 10; time++) await many.explainer.scansOf(page)
    expect(await many.explainer.explainSent(page)).toHaveLength(1)
    const scans = await many.explainer.scansOf(page)
    // A statement that is planned for its values also reads the ends of indexes.
    expect(scans.filter(scan => BY_KEYS.some(({ table }) => table === scan.table))).toMatchObject(
      BY_KEYS.map(({ table, all }) => ({ table, all })),
    )
  })

  test('in the statement of a single record, which is read by its own key', async () => {
    const [row] = await many.database.sql<{ id: string }[]>`
      select id from export_records where organization_id = 1 and product_id = 1 limit 1`
    for (const [id, isThere] of [
      [row?.id ?? '', true],
      ['999999999', false],
    ] as const) {
      const work = async (sql: Runner) => {
        const { status } = await retrieveAssessment(
          { db: sql, memory: new PageMemory(), tokenDigest: token(), bounds: {} },
          id,
        )
        expect(status).toBe(isThere ? 200 : 404)
      }
      expect(await many.explainer.explainSent(work)).toHaveLength(1)
      // The statement also reads the one row that says whether disclosures are recorded.
      const scans = await many.explainer.scansOf(work)
      expect(scans.filter(({ table }) => table !== 'disclosure_state')).toEqual([
        ...BY_KEYS.slice(0, 1),
        { table: 'export_records', all: 0, byIndex: 1 },
        ...BY_KEYS.slice(1),
      ])
    }
  })

  test('if the page memory does not have the token', async () => {
    const scans = await many.explainer.scansOf(async sql => {
      const { access } = await requireAccess(sql, token())
      expect(access.clientId).toMatch(/^client\d+$/)
    })
    // The statement also reads the two tables of one row.
    expect(scans.filter(({ table }) => !['disclosure_state', 'export_version'].includes(table))).toEqual(
      BY_KEYS,
    )
  })

  test('and by one key if the token does not exist', async () => {
    const scans = await many.explainer.scansOf(async sql => {
      expect(await requireAccess(sql, NOBODYS).catch(error => error)).toMatchObject({
        httpStatus: 401,
      })
    })
    expect(scans).toEqual(BY_KEYS.slice(0, 1))
  })
})
