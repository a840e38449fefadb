import { afterAll, describe, expect, test } from 'bun:test'
import pino from 'pino'
import type { Sql } from 'postgres'
import { openDatabase } from '../../src/postgres/database.ts'
import { migrate } from '../../src/postgres/schema/migrate.ts'
import { MIGRATIONS } from '../../src/postgres/schema/migrations.ts'
import { randomText, SECRET_LENGTH, sha256 } from '../../src/random.ts'
import { emptyDatabase } from '../support/cluster.ts'
import { badFindings } from '../support/doctor.ts'
import { cleanUp } from '../support/executable.ts'
import { newToken, tryList } from '../support/http.ts'
import { parseRequest } from '../support/oracle.ts'
import { listen } from '../support/service.ts'
import { readOracle } from '../support/stored-platform.ts'

afterAll(cleanUp)

/**
 * Data that an operator's SQL wrote under the first migration: parts, a proctor who is not an educator,
 * names.
 */
const SOURCE = `
  insert into organizations values (10, 'Lakeside'), (11, 'Hillside'), (12, 'Nobody is here');
  insert into products values (1, 'Reading Ü'), (2, 'Writing');
  insert into users values (501, 'Ana Ruiz', 'Ana', 'Ruiz', 'ana@example.org', '0012', 'active'),
    (502, 'Bo Li', 'Bo', 'Li', '', null, 'archived'), (77, 'Pat Proctor', default, default, default, default, default);
  insert into assessments
  select id, 501 + id % 2, 10 + id % 2, 1 + id % 2, timestamptz '2024-03-10T05:00Z' + id * interval '1 hour', id % 3 = 0
  from generate_series(1, 300) as id;
  insert into assessment_parts select id, id, 1, null, null, 77 from generate_series(1, 280) as id;
  insert into assessment_parts
  select 1000 + id, id, 2, 'Part ' || id, timestamptz '2024-02-10T05:00Z', 501 from generate_series(1, 100) as id`

/** An integration with a client id and a secret; the ids of its scope are unsorted. */
const SECRET = randomText(SECRET_LENGTH)
const CREDENTIALS = { clientId: 'OfLongAgo', clientSecret: SECRET }

async function insertIntegration(sql: Sql): Promise<void> {
  await sql`
    insert into integrations (client_id, name, organization_ids, product_ids)
    values (${CREDENTIALS.clientId}, 'Of long ago', '{11,10,12}', '{2,1}')`
  await sql`
    insert into integration_secrets (integration_id, digest) select id, ${sha256(SECRET)} from integrations`
}

/** The kinds of data, each with the table that it needs. */
const DATA = [
  { table: 'assessment_parts', insert: (sql: Sql) => sql.unsafe(SOURCE) },
  { table: 'integration_secrets', insert: insertIntegration },
]

const QUERIES = [
  'page=100',
  'page=100&offset=200&order=desc',
  'sort=user_name',
  'filter[search]=ana',
  'filter[search]=reading',
  'filter[seids][]=0012',
  'filter[start_date]=2024-03-20',
  'filter[proctor_ids][]=501',
]

describe('data that were written under the schema', () => {
  test.each(MIGRATIONS.map(({ name }, at) => [name, at + 1] as const))(
    '%s are served as the oracle says after an upgrade, and doctor --full reports no fault',
    async (_, length) => {
      const { url, drop } = await emptyDatabase()
      const database = await openDatabase(url, 3)
      const { sql } = database
      const loaded = new Set<string>()
      const load = async () => {
        for (const { table, insert } of DATA) {
          const [found] = await sql`select to_regclass(${table}) as name`
          if (found?.name === null || loaded.has(table)) continue
          await insert(sql)
          loaded.add(table)
        }
      }
      await migrate(sql, MIGRATIONS.slice(0, length))
      await load()
      await migrate(sql)
      await load()
      await sql`vacuum (analyze) export_records`

      const { url: baseUrl, stop } = listen(database, pino({ level: 'silent' }))
      const token = await newToken(baseUrl, CREDENTIALS)
      const oracle = await readOracle(sql)
      const scope = { organizations: [10, 11, 12], products: [1, 2] }
      for (const query of QUERIES)
        expect((await tryList(baseUrl, token, query)).text).toBe(oracle.list(scope, parseRequest(query)))
      await stop()
      expect(await badFindings(url, '--full')).toEqual([])
      await database.close()
      await drop()
    },
  )

  test('0012 keep their tokens: each ends with its secret, and has its integration', async () => {
    const { url, drop } = await emptyDatabase()
    const { sql, close } = await openDatabase(url, 1)
    await migrate(sql, MIGRATIONS.slice(0, 12))
    await sql.unsafe(`
      insert into integrations (client_id, name) values ('one', 'One'), ('other', 'Other');
      insert into integration_secrets (integration_id, digest, expires_at)
      select id, sha256(client_id::bytea), case client_id when 'other' then timestamptz '2100-01-01Z' end from integrations;
      insert into access_tokens (digest, secret_id, expires_at)
      select digest, id, '2200-01-01Z' from integration_secrets`)
    await migrate(sql)
    expect([
      ...(await sql`
        select client_id, extract(year from expires_at at time zone 'UTC')::int as year
        from access_tokens t join integrations i on i.id = t.integration_id order by client_id`),
    ]).toEqual([
      { client_id: 'one', year: 2200 },
      { client_id: 'other', year: 2100 },
    ])
    await close()
    await drop()
  })

  test('0001 cannot be upgraded if a part has the id of another assessment, which no record could show', async () => {
    const { url, drop } = await emptyDatabase()
    const { sql, close } = await openDatabase(url, 1)
    await migrate(sql, MIGRATIONS.slice(0, 1))
    await sql.unsafe(`${SOURCE}; insert into assessment_parts values (300, 299, 1, 'Part', now(), 77)`)
    expect(await migrate(sql).catch(error => error.message)).toBe(
      'id 300 is both an assessment and a part of another assessment',
    )
    await close()
    await drop()
  })
})
