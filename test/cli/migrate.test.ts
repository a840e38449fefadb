import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import postgres from 'postgres'
import { migrate } from '../../src/database/migrate.ts'
import { MIGRATIONS, schemaNumber } from '../../src/database/migrations.ts'
import { emptyDatabase } from '../support/cluster.ts'
import { axport, cleanUp, errorLine, start, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { until } from '../support/until.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)
afterAll(cleanUp)

test.each(['', '1'])(
  'migrate with DATABASE_POOL_SIZE=%s prints on standard error which sessions hold the locks it waits for, and continues when they are released',
  async DATABASE_POOL_SIZE => {
    const { url, drop } = await emptyDatabase()
    const sql = postgres(url, { max: 2, onnotice: () => {} })
    await migrate(sql, MIGRATIONS.slice(0, 3))
    const running = await sql.begin(async writer => {
      await writer`set local application_name = 'nightly'`
      await writer`lock table organizations in row exclusive mode`
      const running = await start(['migrate'], { env: { DATABASE_URL: url, DATABASE_POOL_SIZE } })
      await until('it waits', () => running.stderr() !== '')
      expect(running.stdout()).toBe('')
      return running
    })
    const { code, stdout, stderr } = await running.finished
    const applied = MIGRATIONS.slice(3).map(({ name }) => name)
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `applied ${applied.join(', ')}\nexecutables whose schema is ${schemaNumber(MIGRATIONS)} or newer can still serve\n`,
    })
    expect(stderr).toMatch(
      /^waiting for locks of nightly \(pid \d+, idle in transaction, since [^ ]+Z\); trying again in 2 s\n$/,
    )
    await sql.end()
    await drop()
  },
)

test('migrate asks for the time zone of a new database, and changes nothing without a usable one', async () => {
  const { url, drop } = await emptyDatabase()
  const migrated = (...args: string[]) => axport(['migrate', ...args], { env: { DATABASE_URL: url } })
  expect(errorLine(await migrated(), 1)).toBe(
    "a new database needs the platform's time zone, in which its days begin: add --time-zone Area/City, for example --time-zone Europe/Berlin",
  )
  // What the documents leave to be filled in.
  expect(errorLine(await migrated('--time-zone', 'Area/City'), 1)).toStartWith(
    'there is no time zone Area/City ',
  )
  expect(errorLine(await migrated(), 1)).toStartWith('a new database needs ')
  expect(await migrated('--time-zone', 'Europe/Berlin')).toMatchObject({ code: 0 })
  // As an upgrade.
  expect(await migrated()).toMatchObject({ code: 0, stdout: 'the schema is up to date\n' })
  const sql = postgres(url, { max: 1 })
  expect([...(await sql`select time_zone from export_state`)]).toEqual([{ time_zone: 'Europe/Berlin' }])
  await sql.end()
  await drop()
})
