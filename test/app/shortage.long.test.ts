import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { record } from '../support/disclosures.ts'
import { TEST_TIMEOUT_MS } from '../support/executable.ts'
import { postToken } from '../support/http.ts'
import { type Served, useServedWorld } from '../support/served.ts'
import { until } from '../support/until.ts'
import { DISK_FULL } from '../support/wordings.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const world = useServedWorld({ ADMIN_PORT: '0' })

const NO_TOKENS = 'no tokens can be issued'
const NO_DISCLOSURES = 'no disclosures can be recorded, so that pages and records are withheld'

/** The status of /ready, and the check `writable`. */
async function ready({ admin }: Served) {
  const answer = await fetch(`${admin}/ready`)
  const { checks } = (await answer.json()) as { checks: { check: string; status: string; detail?: string }[] }
  const { status, detail } = checks.find(({ check }) => check === 'writable') ?? {}
  return [answer.status, status, detail]
}

/** The same as soon as the database is reached again, after its connections were ended. */
const readyAgain = (served: Served) =>
  until('/ready reaches the database', async () => {
    const answer = await ready(served)
    return answer[1] !== 'skipped' && answer
  })

const READY = [200, 'ok', undefined]

/** What is slow on a busy machine. */
const SLOW = ['slow statement', 'request']

/** The messages of the log from warnings upwards, and the messages about the end of a shortage. */
const messages = (running: Served) =>
  running
    .log()
    .flatMap(({ level, msg }) => (Number(level) >= 40 || /again$/.test(msg) ? [msg] : []))
    .filter(msg => !SLOW.includes(msg))

/** Lets a table refuse new rows with an SQLSTATE. */
const refuse = (table: 'access_tokens' | 'disclosures', code: string) =>
  world.sql.unsafe(`
    create or replace function refuse() returns trigger language plpgsql as
      $$ begin raise exception 'short' using errcode = '${code}'; end $$;
    create trigger refuse before insert on ${table} for each row execute function refuse()`)

const accept = async () => {
  await world.sql`drop function if exists refuse cascade`
}

const token = async (running: Served) => (await postToken(running.url, world.credentials)).status
const page = async (running: Served) => (await world.list(running)).status

afterEach(async () => {
  await accept()
  await record(world.sql, false)
})

describe.each([
  ['53100', DISK_FULL],
  ['53200', 'the database is out of memory'],
])('SQLSTATE %s', (code, what) => {
  test('of a token is logged once and counted, and is a warning of /ready until a token could be issued', async () => {
    const running = await world.serve()
    expect(await ready(running)).toEqual(READY)
    await refuse('access_tokens', code)
    for (let time = 0; time < 5; time++) expect(await token(running)).toBe(503)
    const warning = `${what}: ${NO_TOKENS}; pages and records are answered`
    for (let time = 0; time < 2; time++) expect(await ready(running)).toEqual([200, 'warning', warning])
    expect(await page(running)).toBe(200)
    // The statement that refuses a wrong secret succeeds, and writes nothing.
    const wrong = { ...world.credentials, clientSecret: 'x'.repeat(43) }
    expect((await postToken(running.url, wrong)).status).toBe(401)
    const metrics = await (await fetch(`${running.admin}/metrics`)).text()
    const [, shortages] = /^axport_database_shortages_total (\d+)$/m.exec(metrics) ?? []
    expect(Number(shortages)).toBeGreaterThanOrEqual(5)
    expect(messages(running)).toEqual([`${what}: ${NO_TOKENS}`])
    expect(running.log()).toContainEqual(expect.objectContaining({ level: 40, code }))

    await accept()
    // No token is requested in the meantime.
    expect(await ready(running)).toEqual(READY)
    expect(messages(running)).toEqual([`${what}: ${NO_TOKENS}`, 'tokens can be issued again'])
    await running.end()
  })

  test('of a recording says that pages are withheld, and fails /ready until a disclosure could be recorded', async () => {
    await record(world.sql, true)
    const running = await world.serve()
    expect(await page(running)).toBe(200)
    const recorded = async () => (await world.sql`select from disclosures`).count
    const before = await recorded()
    await refuse('disclosures', code)
    for (let time = 0; time < 2; time++) expect(await page(running)).toBe(503)
    // Tokens are not refused, and say nothing about recordings.
    expect(await token(running)).toBe(200)
    expect(await ready(running)).toEqual([503, 'wrong', `${what}: ${NO_DISCLOSURES}`])
    expect(messages(running)).toEqual([`${what}: ${NO_DISCLOSURES}`])

    await accept()
    // No page is requested in the meantime, and the try leaves nothing behind.
    expect(await ready(running)).toEqual(READY)
    expect(await recorded()).toBe(before)
    expect(messages(running)).toEqual([`${what}: ${NO_DISCLOSURES}`, 'disclosures can be recorded again'])
    expect(await page(running)).toBe(200)
    await running.end()
  })
})

test.each([
  ['not recorded, /ready warns', false, 200, 'warning'],
  ['recorded, /ready fails', true, 503, 'wrong'],
])('while the database is read-only and disclosures are %s', async (_, isOn, status, result) => {
  await record(world.sql, isOn)
  const running = await world.serve()
  const name = new URL(world.env.DATABASE_URL as string).pathname.slice(1)
  const readOnly = (value: 'on' | 'off') =>
    world.sql.unsafe(`
      alter database ${name} set default_transaction_read_only = ${value};
      set default_transaction_read_only = off;
      select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
        and application_name = 'axport' and pid <> pg_backend_pid()`)
  // Its first connection is open now: one that is only being opened could not be ended.
  expect(await ready(running)).toEqual(READY)
  await readOnly('on')
  try {
    const [answered, checked, detail] = await readyAgain(running)
    expect([answered, checked]).toEqual([status, result])
    expect(detail).toStartWith(
      `the database is read-only (a standby, or default_transaction_read_only): ${NO_TOKENS}`,
    )
    expect(String(detail).includes(NO_DISCLOSURES)).toBe(isOn)
    expect(await page(running)).toBe(isOn ? 503 : 200)
  } finally {
    await readOnly('off')
  }
  expect(await readyAgain(running)).toEqual(READY)
  await running.end()
})
