import { afterEach, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import postgres, { type Sql } from 'postgres'
import { migrate } from '../../src/database/migrate.ts'
import { MIGRATIONS, type Migration, schemaNumber } from '../../src/database/migrations.ts'
import { compareSchema, requireCurrentSchema } from '../../src/database/schema-record.ts'
import { Failure } from '../../src/errors.ts'
import { cluster, emptyDatabase } from '../support/cluster.ts'
import { migratedDatabase } from '../support/service.ts'
import { until } from '../support/until.ts'

const names = MIGRATIONS.map(migration => migration.name)
const prefixes = MIGRATIONS.map((_, length) => length)

const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

/** An empty database, and this many separate pools to it; all are removed after the test. */
async function pools(count: number): Promise<[Sql, ...Sql[]]> {
  const { url, drop } = await emptyDatabase()
  cleanups.push(drop)
  return Array.from({ length: count }, () => open(url)) as [Sql, ...Sql[]]
}

/** A pool to a migrated database; both are removed after the test. */
async function migrated(): Promise<Sql> {
  const { url, drop } = await migratedDatabase()
  cleanups.push(drop)
  return open(url)
}

function open(url: string): Sql {
  const sql = postgres(url, { max: 3, onnotice: () => {} })
  cleanups.push(() => sql.end({ timeout: 0 }))
  return sql
}

async function urlOf(sql: Sql): Promise<string> {
  const [row] = await sql<{ name: string }[]>`select current_database() as name`
  return (await cluster()).url(row?.name)
}

/** Whether all migrations after the first `length` declare that a program that knows only those can serve. */
const isCompatibleWithLater = (length: number) =>
  MIGRATIONS.slice(length).every(({ sql }) => Number(/^-- compatible-with: (\d+)$/m.exec(sql)?.[1]) <= length)

/** The error message, which must be one line. */
async function refusal(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => new Error('nothing was refused'),
    error => error,
  )
  expect(error).toBeInstanceOf(Failure)
  expect(error.message).not.toContain('\n')
  return error.message
}

/** Everything that the migrations created, as Postgres describes it, without the time of the version. */
async function dump(sql: Sql): Promise<string[]> {
  const rows = await sql<{ line: string }[]>`
    select format('%s %s %s %s %s', attrelid::regclass, attname, format_type(atttypid, atttypmod), attnotnull,
                  pg_get_expr(adbin, adrelid)) as line
    from pg_attribute join pg_class c on c.oid = attrelid left join pg_attrdef on adrelid = attrelid and adnum = attnum
    where relnamespace = 'public'::regnamespace and attnum > 0 and relkind in ('r', 'v')
    union all
    select pg_get_indexdef(indexrelid) from pg_index join pg_class c on c.oid = indrelid
    where relnamespace = 'public'::regnamespace
    union all
    select conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) from pg_constraint
    where connamespace = 'public'::regnamespace
    union all
    select pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
    union all
    select pg_get_viewdef(oid) from pg_class where relnamespace = 'public'::regnamespace and relkind = 'v'
    union all
    select pg_get_functiondef(p.oid) from pg_proc p
    where pronamespace = 'public'::regnamespace
      and not exists (select from pg_depend where objid = p.oid and deptype = 'e')
    union all
    select 'state ' || to_jsonb(s)::text from export_state s
    order by line`
  return rows.map(row => row.line)
}

const version = (sql: Sql) => sql`select version from export_version`

const record = (sql: Sql) => sql`select name, sha256, applied_at::text from schema_migrations order by name`

describe('the list of migrations', () => {
  test('equals the files of db/migrations byte by byte, each with a number', async () => {
    const folder = join(import.meta.dir, '..', '..', 'db', 'migrations')
    const files = [...new Bun.Glob('**/*').scanSync(folder)].sort()
    expect(files).toEqual(names.map(name => `${name}.sql`))
    for (const { name, sql } of MIGRATIONS)
      expect(sql).toBe(await Bun.file(join(folder, `${name}.sql`)).text())
    for (const name of names) expect(name).toMatch(/^\d{4}_[a-z0-9_]+$/)
    expect(new Set(names.map(name => name.slice(0, 4))).size).toBe(names.length)
  })
})

describe('migrating', () => {
  test('an empty database applies all migrations in order; a second run changes nothing', async () => {
    const [sql] = await pools(1)
    expect(await migrate(sql)).toEqual(names)
    expect((await record(sql)).map(row => row.name)).toEqual(names)
    await requireCurrentSchema(sql)
    const state = async () => [await dump(sql), [...(await record(sql))], [...(await version(sql))]]
    const before = await state()
    expect(await migrate(sql)).toEqual([])
    expect(await state()).toEqual(before)
  })

  test('an old database is refused with the missing names, and by one migration after the other gets the same schema', async () => {
    const [fresh, sql] = (await pools(1)).concat(await pools(1)) as [Sql, Sql]
    await migrate(fresh)
    for (const [length, name] of names.entries()) {
      // The check itself creates nothing, not even the record of migrations.
      const before = await sql`select count(*) from pg_class`
      expect((await compareSchema(sql)).missing).toEqual(names.slice(length))
      expect(await refusal(requireCurrentSchema(sql))).toBe(
        `the database schema is behind by ${names.length - length} (${names.slice(length).join(', ')}): run axport migrate`,
      )
      expect([...(await sql`select count(*) from pg_class`)]).toEqual([...before])
      expect(await migrate(sql, MIGRATIONS.slice(0, length + 1))).toEqual([name])
    }
    expect(await dump(sql)).toEqual(await dump(fresh))
  })

  test.each([0, 1])(
    'from five processes at once, after the first %d migrations, applies each exactly once',
    async done => {
      const all = await pools(5)
      if (done > 0) await migrate(all[0], MIGRATIONS.slice(0, done))
      const applied = await Promise.all(all.map(sql => migrate(sql)))
      expect(applied.flat().sort()).toEqual(names.slice(done))
    },
  )
})

describe('a role whose search_path does not contain the schema of pg_trgm', () => {
  test.each(['public', 'extensions'])(
    'creates everything in its own schema if pg_trgm is in %s',
    async schema => {
      const [admin] = await pools(1)
      await admin.unsafe(`
      create schema if not exists ${schema}; create extension pg_trgm with schema ${schema};
      create schema app; alter database ${(await urlOf(admin)).split('/').at(-1)} set search_path = app`)
      const sql = open(await urlOf(admin))
      expect(await migrate(sql)).toEqual(names)
      await requireCurrentSchema(sql)
      const made = await sql<{ nspname: string }[]>`
      select distinct nspname from pg_class c join pg_namespace n on n.oid = relnamespace
      where relname in ('schema_migrations', 'organizations', 'export_records', 'integrations', 'export_people_names_key')`
      expect(made.map(row => row.nspname)).toEqual(['app'])
      await sql.unsafe(`
      insert into organizations values (1, 'Lakeside'); insert into products values (1, 'Reading');
      insert into users (id, name, first_name) values (1, 'Ana', 'Ana');
      insert into assessments values (1, 1, 1, 1, now());
      insert into assessment_parts values (1, 1, 1, null, null, 1)`)
      expect(await sql`select user_id from export_people where names_key like '%ana%'`).toHaveLength(1)
    },
  )

  test('is refused if its search_path has no existing schema, and nothing is created', async () => {
    const [admin] = await pools(1)
    await admin.unsafe(`alter database ${(await urlOf(admin)).split('/').at(-1)} set search_path = nowhere`)
    const sql = open(await urlOf(admin))
    expect(await migrate(sql).catch(error => error.code)).toBe('3F000')
    expect(await sql`select from pg_class where relname = 'schema_migrations'`).toHaveLength(0)
  })
})

describe('a database with another history of migrations', () => {
  const edited = (at: number): Migration[] =>
    MIGRATIONS.map((migration, index) =>
      index === at ? { ...migration, sql: `${migration.sql}\n` } : migration,
    )

  test('is refused with the name of an edited migration, and not changed', async () => {
    const sql = await migrated()
    const recorded = [...(await record(sql))]
    for (const [at, name] of names.entries())
      for (const work of [migrate, compareSchema])
        expect(await refusal(work(sql, edited(at)))).toContain(`${name} was edited`)
    expect([...(await record(sql))]).toEqual(recorded)
  })

  test('is refused with the name of a newer migration, and not changed', async () => {
    const sql = await migrated()
    const recorded = [...(await record(sql))]
    for (const length of prefixes.slice(1))
      for (const work of isCompatibleWithLater(length) ? [migrate] : [migrate, compareSchema])
        expect(await refusal(work(sql, MIGRATIONS.slice(0, length)))).toMatch(
          new RegExp(`${names[length]}.*run a newer axport`),
        )
    expect([...(await record(sql))]).toEqual(recorded)
  })

  test('is refused before any migration is applied, if it is newer and lacks migrations', async () => {
    const [sql] = await pools(1)
    await migrate(sql, MIGRATIONS.slice(0, 1))
    await sql`insert into schema_migrations (name, sha256) values ('9999_from_the_future', 'x')`
    expect(await refusal(migrate(sql))).toContain('9999_from_the_future')
    expect(await refusal(requireCurrentSchema(sql))).toMatch(/9999_from_the_future.*run a newer axport/)
    expect((await sql`select to_regclass('export_records') as made`)[0]?.made).toBeNull()
  })

  test('is refused if axport 0.1 made it, with what to do, and not changed', async () => {
    const [sql] = await pools(1)
    await sql.unsafe(`
      create table schema_migrations (
        name text primary key, sha256 text not null, applied_at timestamptz not null default now(), compatible_with integer
      );
      insert into schema_migrations values ('0001_source_tables', 'x', now(), 1), ('0002_read_model', 'x', now(), 2)`)
    const recorded = [...(await record(sql))]
    for (const work of [migrate, compareSchema, requireCurrentSchema])
      expect(await refusal(work(sql))).toMatch(
        /^the database was made by axport 0\.1 .*create an empty database/,
      )
    expect([...(await record(sql))]).toEqual(recorded)
    expect(
      await sql`select from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`,
    ).toHaveLength(1)
  })

  test('is refused if its encoding is not UTF8', async () => {
    const maintenance = open((await cluster()).url())
    const name = `axport_test_latin_${process.pid}`
    await maintenance.unsafe(`create database ${name} template template0 encoding 'LATIN1' locale 'C'`)
    cleanups.push(async () => void (await maintenance.unsafe(`drop database ${name} with (force)`)))
    const sql = open((await cluster()).url(name))
    expect(await refusal(migrate(sql))).toContain('LATIN1')
  })
})

describe('a database with later migrations', () => {
  const own = schemaNumber(MIGRATIONS)
  /** Later migrations, each with the oldest schema that it declares to be compatible with. */
  const later = (oldest: (number | undefined)[]): Migration[] => [
    ...MIGRATIONS,
    ...oldest.map((number, index) => ({
      name: `${9001 + index}_later`,
      sql: `-- Adds nothing.\n${number === undefined ? '' : `-- compatible-with: ${number}\n`}select 1`,
    })),
  ]

  test.each([[[own]], [[own - 1, 1]]])(
    'that are compatible with %p, and so with this program, can be served, but not imported into or migrated',
    async oldest => {
      const sql = await migrated()
      await migrate(sql, later(oldest))
      const ahead = oldest.map((_, index) => `${9001 + index}_later`)
      expect(await compareSchema(sql)).toEqual({ missing: [], ahead })
      expect(await refusal(requireCurrentSchema(sql))).toMatch(/9001_later.*run a newer axport/)
      expect(await refusal(migrate(sql))).toMatch(/9001_later.*run a newer axport/)
    },
  )

  test.each([[[own + 1]], [[undefined]], [[own, own + 1]], [[own, undefined]]])(
    'that are compatible with %p is refused with the name of the incompatible one',
    async oldest => {
      const sql = await migrated()
      await migrate(sql, later(oldest))
      const [first] = oldest.flatMap((number, index) => (number === own ? [] : [`${9001 + index}_later`]))
      expect(await refusal(compareSchema(sql))).toMatch(new RegExp(`${first}.*run a newer axport`))
    },
  )
})

describe('a migration of a table that another session reads for a long time', () => {
  const extended = [
    ...MIGRATIONS,
    { name: '9000_extra', sql: 'alter table access_tokens add column extra text' },
  ]

  /** Runs `work` while another program reads the tokens of a migrated database. */
  async function whileDumped(work: (sql: Sql, dump: RegExp) => Promise<unknown>): Promise<Sql> {
    const sql = await migrated()
    // All connections are open by now. The migration needs one of them to find the reader while it waits for
    // the lock.
    await Promise.all([1, 2, 3].map(() => sql`select`))
    await open(await urlOf(sql)).begin(async dump => {
      await dump`set local application_name = 'pg_dump'`
      await dump`lock table access_tokens in access share mode`
      const [{ pid } = {}] = await dump`select pg_backend_pid() as pid`
      await work(sql, new RegExp(`pg_dump \\(pid ${pid}, idle in transaction, since \\d{4}-[^ ]*Z\\)`))
    })
    return sql
  }

  test('lets requests run while it waits, names the reader, and is finally applied', async () => {
    let applied: Promise<string[]> | undefined
    const sql = await whileDumped(async (sql, dump) => {
      let named = ''
      const onBlocked = (blockers: string) => {
        named = blockers
      }
      applied = migrate(sql, extended, { onBlocked })
      const request = () =>
        sql.begin(async request => {
          // Much longer than one attempt at the lock, and shorter than all attempts.
          await request`set local statement_timeout = '6s'`
          await request`select from live_tokens where digest = '\\x00'`
        })
      while (named === '') await request()
      await request()
      expect(named).toMatch(dump)
      expect(await sql`select from schema_migrations where name = '9000_extra'`).toHaveLength(0)
    })
    expect(await applied).toEqual(['9000_extra'])
    expect((await compareSchema(sql, extended)).missing).toEqual([])
  })

  test('fails at the timeout, and names the reader without its statement', async () => {
    await whileDumped(async (sql, dump) => {
      const message = await refusal(migrate(sql, extended, { timeoutMs: 0 }))
      expect(message).toStartWith('migration 9000_extra waits for locks of ')
      expect(message).toMatch(dump)
      expect(message).not.toContain('select')
    })
  })
})

describe('a failing migration', () => {
  const broken = `create table leftover (); alter table export_state add leftover text; select 1 / 0`
  const extended = (sql: string): Migration[] => [...MIGRATIONS, { name: '9000_extra', sql }]
  const leftovers = (sql: Sql) => sql`select relname from pg_class where relname = 'leftover'`

  test('changes nothing, keeps the migrations before it, and is applied after its repair', async () => {
    const [sql] = await pools(1)
    expect(await migrate(sql, extended(broken)).catch(error => error.code)).toBe('22012')
    expect(await leftovers(sql)).toHaveLength(0)
    expect((await compareSchema(sql, extended(broken))).missing).toEqual(['9000_extra'])
    expect((await compareSchema(sql)).missing).toEqual([])
    expect(await migrate(sql, extended('create table leftover ()'))).toEqual(['9000_extra'])
    expect(await leftovers(sql)).toHaveLength(1)
  })

  test('that is the first one leaves the database empty', async () => {
    const [sql] = await pools(1)
    const first = [{ name: '0001_broken', sql: 'create table leftover (); select 1 / 0' }]
    expect(await migrate(sql, first).catch(error => error.code)).toBe('22012')
    expect(await sql`select relname from pg_class where relnamespace = 'public'::regnamespace`).toHaveLength(
      0,
    )
    expect(await migrate(sql)).toEqual(names)
  })

  test('whose connection is cut ends with an error, and the next process applies it', async () => {
    const [sql, victim] = (await pools(2)) as [Sql, Sql]
    const cut = migrate(victim, extended('create table leftover (); select pg_sleep(3600)')).catch(
      error => error,
    )
    await until(
      'its connection is cut',
      async () => {
        const { count } = await sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event = 'PgSleep'`
        return count
      },
      60_000,
    )
    expect(await cut).toBeInstanceOf(Error)
    expect(await leftovers(sql)).toHaveLength(0)
    expect(await migrate(sql, extended('create table leftover ()'))).toEqual(['9000_extra'])
  })
})
