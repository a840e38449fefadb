import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import { readBatches } from '../../src/backup/read.ts'
import { KEPT, LEFT_OUT } from '../../src/backup/tables.ts'
import { erasePerson } from '../../src/erasure/erase.ts'
import { createIntegration } from '../../src/integrations/credentials.ts'
import { Interruption } from '../../src/interruption.ts'
import { type Database, openDatabase } from '../../src/postgres/database.ts'
import { emptyDatabase } from '../support/cluster.ts'
import { cleanUp, emptyFolder } from '../support/executable.ts'
import { useTestDatabase } from '../support/hooks.ts'
import { postToken, tryList } from '../support/http.ts'
import { staleRecords } from '../support/import.ts'
import { listen, openTestDatabase, type TestDatabase } from '../support/service.ts'
import { backUpTo, contents, fill, type Integrations, restoreFrom } from './worlds.ts'

const file = join(emptyFolder(), 'axport.backup')
const source = useTestDatabase()
let integrations: Integrations
/**
 * The contents of the source at the time of its backup. A later token request would change the time of its
 * use.
 */
let original: unknown
beforeAll(async () => {
  integrations = await fill(source.sql)
  await backUpTo(file, source.sql)
  original = await contents(source.sql)
})
afterAll(cleanUp)

/** The credentials of an integration in form-1.backup, which an earlier version of backUpTo() wrote. */
const OF_FORM_1 = {
  clientId: 'zrmpYhKhiSOerst3s03YOzZf',
  clientSecret: 'KSPMlD8yGi63Q04woY35oZuHwrSP5jqPDk5bOgXW69d',
}

/**
 * For each integration, the export that it reads from a database, or the status of the refused token request.
 */
async function exports(
  database: Pick<TestDatabase, 'pool'>,
  of: Partial<Integrations> = integrations,
): Promise<Record<string, string>> {
  const { url, stop } = listen(database, pino({ level: 'silent' }))
  const got: Record<string, string> = {}
  for (const [name, credentials] of Object.entries(of)) {
    const { status, body } = await postToken(url, credentials)
    const { access_token: token } = (body ?? {}) as { access_token?: string }
    got[name] = token ? (await tryList(url, token, 'page=100')).text : String(status)
  }
  await stop()
  return got
}

/** Calls `work` with an empty database that has the current schema. */
async function withEmpty(work: (database: TestDatabase) => Promise<void>): Promise<void> {
  const database = await openTestDatabase()
  await work(database).finally(database.close)
}

/** Calls `work` with a database without a schema. */
async function withoutSchema(work: (database: Database) => Promise<void>): Promise<void> {
  const { url, drop } = await emptyDatabase()
  const database = await openDatabase(url, 3)
  await work(database).finally(database.close)
  await drop()
}

test('every table of the schema is either in a backup or in the list of omitted tables', async () => {
  const rows = await source.sql<{ name: string }[]>`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'm') order by 1`
  const known = [...KEPT.map(({ table }) => table), ...Object.keys(LEFT_OUT)]
  expect(known.sort()).toEqual(rows.map(({ name }) => name))
  for (const reason of Object.values(LEFT_OUT)) expect(reason).toMatch(/^(is|live|belongs) /)
})

test('a backup is readable only by its owner', () => {
  expect((statSync(file).mode & 0o777).toString(8)).toBe('600')
})

test('a backup has one snapshot, even if other writers commit while it is written', async () => {
  const busy = `${file}.busy`
  await withEmpty(async ({ sql }) => {
    await restoreFrom(file, sql)
    // More text than the compressor buffers, in a table that is written before the assessments.
    await sql`
      insert into organizations select 1000 + i, md5(i::text) || md5('x' || i) from generate_series(1, 12000) i`
    let isFirst = true
    await backUpTo(busy, sql, async () => {
      if (isFirst) await sql`delete from assessment_parts`
      isFirst = false
    })
    const batches = await Array.fromAsync(readBatches(busy))
    expect(isFirst).toBe(false)
    expect((await sql`select from assessment_parts`).count).toBe(0)
    expect(batches.filter(({ table }) => table === 'assessment_parts').map(({ rows }) => rows)).toEqual([5])
  })
})

describe('a backup that is restored into an empty database', () => {
  const target = useTestDatabase()
  beforeAll(() => restoreFrom(file, target.sql))

  test('has every row and the time zone, and renders every record', async () => {
    expect(await contents(target.sql)).toEqual(original)
    expect(await staleRecords(target.sql)).toBeEmpty()
  })

  test('gives every integration the same answers for the same credentials', async () => {
    const got = await exports(target)
    expect(got).toEqual(await exports(source))
    expect(got.disabled).toBe('401')
    expect(JSON.parse(got.wide as string).meta.count).toBe(4)
  })

  test('can be backed up and restored again with the same contents', async () => {
    const again = `${file}.again`
    await backUpTo(again, target.sql)
    await withEmpty(async ({ sql }) => {
      await restoreFrom(again, sql)
      expect(await contents(sql)).toEqual(await contents(target.sql))
    })
  })

  test('gives new rows ids after the restored ones', async () => {
    await createIntegration(target.sql, 'Newer', ['10'], ['1'])
    const [row] = await target.sql`
      select (select count(*) from integrations) = 4 and (select max(id) from integrations) > 3 as ok`
    expect(row?.ok).toBe(true)
  })

  test('is refused a second time, and the database stays unchanged', async () => {
    const before = await contents(target.sql)
    expect(await restoreFrom(file, target.sql).catch(error => error.message)).toBe(
      'nothing was restored: the database is not empty, integrations has rows: create a new one to restore into',
    )
    expect(await contents(target.sql)).toEqual(before)
  })
})

describe('a restore', () => {
  test('is refused if the database has any rows', async () => {
    await withoutSchema(async ({ sql }) => {
      await sql`create table organizations (id bigint)`
      await sql`insert into organizations values (1)`
      expect(await restoreFrom(file, sql).catch(error => error.message)).toContain('organizations has rows')
      expect((await sql`select from pg_class where relname = 'schema_migrations'`).count).toBe(0)
    })
  })

  test('of format 1 restores all rows of schema 0005 into the current schema', async () => {
    await withoutSchema(async database => {
      await restoreFrom(join(import.meta.dir, 'form-1.backup'), database.sql)
      expect(await staleRecords(database.sql)).toBeEmpty()
      const events = await database.sql`select distinct event from integration_history`
      expect([...events]).toEqual([{ event: 'found' }])
      const { wide } = await exports(database, { wide: OF_FORM_1 })
      expect(JSON.parse(wide as string).meta.count).toBe(4)
    })
  })

  test('leaves out people whose tombstone the database has, and a backup of the result leaves them out too', async () => {
    const again = `${file}.erased`
    const people = (sql: TestDatabase['sql']) => sql`select id, name, email, seid from users order by id`
    await withEmpty(async ({ sql }) => {
      await erasePerson(sql, '502', { dryRun: false, onWait: () => {} })
      expect(await restoreFrom(file, sql)).toBe(1)
      expect((await sql`select id from assessments order by id`).map(({ id }) => id)).toEqual([
        '9001',
        '9003',
        '9100',
      ])
      expect((await people(sql)).at(-1)).toEqual({ id: '502', name: 'Erased person', email: '', seid: null })
      expect(await staleRecords(sql)).toBeEmpty()
      expect(await sql`select from export_changes where user_id = 502 or 502 = any (proctor_ids)`).toBeEmpty()
      expect([...(await sql`select user_id, assessment_ids from erasures`)]).toEqual([
        { user_id: '502', assessment_ids: ['9002'] },
      ])
      await backUpTo(again, sql)
      const erased = await contents(sql)
      await withEmpty(async other => {
        expect(await restoreFrom(again, other.sql)).toBe(0)
        expect(await contents(other.sql)).toEqual(erased)
        await expect(other.sql`update users set name = 'Eva' where id = 502`).rejects.toThrow(
          'user 502 was erased',
        )
      })
    })
  })

  test('that is interrupted leaves the database empty, and the next one fills it', async () => {
    await withEmpty(async ({ url }) => {
      const interruption = new Interruption()
      const first = await openDatabase(url, 1, interruption)
      const ended = restoreFrom(file, first.sql, interruption)
      expect(
        await ended.then(
          () => 'restored',
          () => 'ended',
        ),
      ).toBe('ended')
      const second = await openDatabase(url, 3)
      const [state] = await second.sql`select time_zone from export_state`
      expect(state?.time_zone).toBe('UTC')
      await restoreFrom(file, second.sql)
      expect(await contents(second.sql)).toEqual(original)
      await second.close()
    })
  })

  test('is shown at once by a service that runs', async () => {
    await withEmpty(async database => {
      const { sql } = database
      await restoreFrom(file, sql)
      const { url: baseUrl, stop } = listen(database, pino({ level: 'silent' }))
      const counts = async () => {
        const { body } = await postToken(baseUrl, integrations.wide)
        const { access_token } = body as { access_token: string }
        const pages = await Promise.all(
          [0, 2].map(at => tryList(baseUrl, access_token, `page=2&offset=${at}`)),
        )
        return pages.map(({ text }) => text)
      }
      const right = await counts()
      await sql`delete from assessments where id <> 9002`
      expect(await counts()).not.toEqual(right)
      await sql`alter table integration_history disable trigger user`
      await sql`
        truncate organizations, products, users, assessments, assessment_parts, export_records, export_changes,
          integrations, integration_secrets, access_tokens restart identity`
      await sql`truncate integration_history`
      await sql`alter table integration_history enable trigger user`
      await restoreFrom(file, sql)
      expect(await counts()).toEqual(right)
      await stop()
    })
  })
})
