// A real standby is paused, delayed, frozen and killed, while a primary changes its lists five times a second.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { axport, cleanUp } from '../support/executable.ts'
import { newToken } from '../support/http.ts'
import { getList } from '../support/operator.ts'
import { firstToken, type Served, serveWith } from '../support/served.ts'
import { signal, stopProcesses } from '../support/stop-processes.ts'
import { until } from '../support/until.ts'
import { on, type Replicated, startReplicated } from './support/replicated.ts'
import { Readers, type Seen, Writer } from './support/states.ts'

setDefaultTimeout(180_000)

/** What a request may take while the standby hangs: a second there, the primary, and the delay of a busy machine. */
const SLOWEST_MS = 2500

/** How old a page may be: ten seconds, and the time in which it was read. */
const OLDEST_MS = 10_000 + SLOWEST_MS

let all: Replicated
let service: Served
let token: string
let writer: Writer
let readers: Readers

beforeAll(async () => {
  all = await startReplicated()
  service = await serveWith([], { ...all.env, ADMIN_PORT: '0' })
  token = await firstToken(service.url, all.credentials)
  writer = new Writer(all.primary)
  await until('a state is written', () => writer.committed.length > 0)
  readers = new Readers(service.url, token, writer)
})
afterAll(async () => {
  await readers?.stop()
  await writer?.stop()
  await cleanUp()
  await all?.stop()
})

/** Whether pages are read from the standby. */
async function isUsed(): Promise<boolean> {
  const text = await (await fetch(`${service.admin}/metrics`)).text()
  return /^axport_standby_used 1$/m.test(text)
}
const untilUsed = () => until('the standby is used', isUsed, 30_000)
const untilPassedOver = () => until('the standby is passed over', async () => !(await isUsed()), 30_000)

/** Checks what clients have seen since the last call: pages of one state each, none too old, none too late, no failure. */
function expectRight({ pages, oldest, slowest, faults }: Seen): void {
  expect({ faults: [...faults], isRead: pages > 0 }).toEqual({ faults: [], isRead: true })
  expect(oldest).toBeLessThan(OLDEST_MS)
  expect(slowest).toBeLessThan(SLOWEST_MS)
}

/** Lets the standby replay each commit so much later. */
const delay = (value: string) =>
  on(all.standby, async sql => {
    await sql.unsafe(`alter system set recovery_min_apply_delay = '${value}'`)
    await sql`select pg_reload_conf()`
  })

/** Lets the standby replay each commit three seconds later, and waits until its pages are so old. */
async function untilBehind(): Promise<void> {
  await delay('3s')
  expect([...readers.take().faults]).toEqual([])
  await until('pages of the standby are two seconds old', () => readers.seen.oldest > 2000, 30_000)
}

/** Lets clients read for some seconds. */
const read = (seconds: number) => Bun.sleep(seconds * 1000)

test('pages are read from the standby, and access and tokens from the primary', async () => {
  await untilUsed()
  await read(2)
  const reading = (cluster: Replicated['primary']) =>
    on(cluster, async sql => {
      const rows = await sql`
        select from pg_stat_activity where application_name = 'axport' and query like '%documents%'`
      return rows.count > 0
    })
  expect(await reading(all.standby)).toBe(true)
  expectRight(readers.take())
})

test('a standby whose replay is paused is passed over within ten seconds, and used again when it goes on', async () => {
  await on(all.standby, sql => sql`select pg_wal_replay_pause()`)
  await untilPassedOver()
  await read(1)
  await on(all.standby, sql => sql`select pg_wal_replay_resume()`)
  await untilUsed()
  await read(1)
  expectRight(readers.take())
})

test('a standby that is three seconds behind is used, and one that is fifteen seconds behind is not', async () => {
  await untilBehind()
  await read(2)
  expect(await isUsed()).toBe(true)
  expectRight(readers.take())
  await delay('15s')
  await untilPassedOver()
  await read(2)
  expect(await isUsed()).toBe(false)
  await delay('0')
  await untilUsed()
  expectRight(readers.take())
})

test('a frozen standby costs a request about a second, and is used again when it goes on', async () => {
  const frozen = await stopProcesses(all.standby)
  await untilPassedOver()
  await read(3)
  for (const pid of frozen) signal(pid, 'SIGCONT')
  await untilUsed()
  await read(1)
  expectRight(readers.take())
})

test('with the standby killed the primary answers, and the standby is used again when it is back', async () => {
  await all.standby.crash()
  await untilPassedOver()
  await read(2)
  await all.standby.restart()
  await untilUsed()
  await read(1)
  expectRight(readers.take())
})

test('a service starts without the standby, and uses it as soon as it is there', async () => {
  await all.standby.crash()
  const other = await serveWith([], { ...all.env, ADMIN_PORT: '0' })
  expect((await getList(other.url, token)).status).toBe(200)
  await all.standby.restart()
  const metrics = async () => await (await fetch(`${other.admin}/metrics`)).text()
  await until('it is used', async () => /^axport_standby_used 1$/m.test(await metrics()), 30_000)
  await other.end()
  await untilUsed()
})

test('a scope and a token count as they are at the primary, whatever the standby has replayed', async () => {
  const integration = (...args: string[]) =>
    axport(['integration', ...args], { env: { DATABASE_URL: all.primary.url() } })
  const { stdout } = await integration(
    'create',
    'Other',
    '--organizations',
    '10',
    '--products',
    '1',
    '--json',
  )
  const other = JSON.parse(stdout)
  await untilBehind()
  const newest = await newToken(service.url, other)
  expect((await getList(service.url, newest)).status).toBe(200)
  await integration('scope', other.client_id, '--remove-organizations', '10')
  expect((await getList(service.url, newest)).status).toBe(400)
  await integration('scope', other.client_id, '--add-organizations', '10')
  expect((await getList(service.url, newest)).status).toBe(200)
  await integration('disable', other.client_id)
  expect((await getList(service.url, newest)).status).toBe(401)
  expect(await isUsed()).toBe(true)
  await delay('0')
  expectRight(readers.take())
})

test('a page of the standby is recorded at the primary before it is sent', async () => {
  const switched = (state: string) =>
    axport(['migrate', '--disclosures', state], { env: { DATABASE_URL: all.primary.url() } })
  expect((await switched('on')).code).toBe(0)
  await untilUsed()
  const answer = await fetch(`${service.url}/api/v1/ax/assessments?page=3`, {
    headers: { authorization: `Bearer ${token}` },
  })
  const { data } = (await answer.json()) as { data: { id: number }[] }
  const rows = await on(
    all.primary,
    sql => sql`select assessment_ids::text as ids from disclosures
      where request_id = ${answer.headers.get('x-request-id')}`,
  )
  expect(rows[0]?.ids).toBe(`{${data.map(({ id }) => id)}}`)
  expect((await switched('off')).code).toBe(0)
  expectRight(readers.take())
})

test('a standby that is promoted is passed over', async () => {
  await all.standby.promote()
  await untilPassedOver()
  await read(2)
  expect(await isUsed()).toBe(false)
  expectRight(readers.take())
})
