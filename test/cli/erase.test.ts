import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import { setDisclosureState } from '../../src/tables/disclosure-state.ts'
import { axport, cleanUp, emptyFolder, errorLine, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { assessment, educator, ndjsonOf } from '../support/fixtures.ts'
import { getList, newToken, openWorld, provision, refusal, succeed, WORLD } from '../support/operator.ts'
import { useRoles } from '../support/roles.ts'
import { listen, load as loadLines, type TestDatabase } from '../support/service.ts'
import { onTerminal } from '../support/terminal.ts'
import { until } from '../support/until.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

let database: TestDatabase
beforeAll(async () => {
  database = await openWorld()
})
afterAll(async () => {
  await cleanUp()
  await database.close()
})
const newRole = useRoles()

const run = (...args: string[]) => succeed(database.url, ...args)
const load = async (...args: string[]) => {
  const env = { DATABASE_URL: database.url }
  return (await axport(['import', ...args, '-'], { env, stdin: { text: ndjsonOf(WORLD) } })).stdout
}

/** An integration that was shown the only record of its scope three times. */
async function showed(): Promise<{ clientId: string; name: string }> {
  const { url, stop } = listen(database, pino({ level: 'silent' }))
  const integration = await provision(database.sql, ['11'], ['1'])
  const token = await newToken(url, integration)
  for (let times = 3; times > 0; times--) await getList(url, token)
  await stop()
  return integration
}

describe('axport erase', () => {
  test('prints what it would remove, removes it, and the next import reports the person as left out', async () => {
    expect(await run('erase', '501', '--dry-run')).toMatch(/^shown to {5}not known\n.*not recorded/m)
    await setDisclosureState(database.sql, { isOn: true })
    const { clientId, name } = await showed()
    expect(await run('erase', '501', '--dry-run')).toMatch(
      /^user {9}501 would be erased\n.*\nassessments {2}3 with 3 parts to remove\n(.*\n)*.*this was a dry run\n$/,
    )
    expect(await run('erase', '501', '--yes')).toStartWith(
      'user         501 is erased\nrow          removed\nassessments  3 with 3 parts removed\n' +
        'proctored    0 assessments of others, without the name\n' +
        `shown to     ${name} (${clientId}), no purpose: 3 times, first 20`,
    )
    expect(await run('erase', '501', '--yes')).toMatch(
      /^ +pages that were read before the erasure may be recorded and sent until 20\S+Z: run axport disclosures --user 501 then$/m,
    )
    expect(await load()).toStartWith('loaded 7 lines, 1 erased person left out\n')
    const { erased_left_out, lines, assessments } = JSON.parse(await load('--json'))
    expect({ erased_left_out, lines, assessments }).toMatchObject({
      erased_left_out: 1,
      lines: 11,
      assessments: { inserted: 0, unchanged: 0 },
    })
  })

  test('prints one object with --json, also for --remove-tombstone, after which an import loads the person again', async () => {
    await setDisclosureState(database.sql, { isOn: false })
    const again = JSON.parse(await run('erase', '501', '--yes', '--json'))
    expect(again).toMatchObject({
      user_id: 501,
      erased: true,
      dry_run: false,
      assessments: 0,
      user: 'not_there',
      shown_to: [{ times: 3, purpose: null }],
      recorded_until: null,
      notes: [
        expect.stringMatching(/^the record begins with 20/),
        expect.stringMatching(/^disclosures are not recorded now: /),
      ],
    })
    expect(again.erased_before).toMatch(/^20\d\d-\d\d-\d\dT.*Z$/)
    const removed = JSON.parse(await run('erase', '501', '--remove-tombstone', '--json'))
    expect(removed).toEqual({ user_id: 501, tombstone_removed: true, erased_at: again.erased_before })
    expect(await run('erase', '501', '--remove-tombstone')).toBe(
      'user 501 has no tombstone: nothing was changed\n',
    )
    expect(await load()).toStartWith('loaded 11 lines\n')
    expect((await database.sql`select from export_records`).count).toBe(3)
  })

  test('refuses an argument that is not an id, and a role that does not own the tables', async () => {
    const env = { DATABASE_URL: database.url }
    const wrong = await axport(['erase', 'ana@example.org'], { env })
    expect(errorLine(wrong, 2)).toContain('"***" is not an id: give a whole number, as 501.')
    const role = await newRole()
    await run('migrate', '--grant-loader', role.name)
    expect(await refusal(role.url(database.url), 'erase', '501', '--yes')).toContain(
      'permission denied for table erasures',
    )
    expect(await database.sql`select from erasures`).toBeEmpty()
  })

  test('asks for the id on a terminal with the name and the number of assessments, and needs --yes elsewhere', async () => {
    const env = { DATABASE_URL: database.url }
    expect(errorLine(await axport(['erase', '501'], { env }), 2)).toBe(
      'there is no terminal to confirm on: axport erase 501 --yes',
    )
    const asks = 'Type the id again: '
    expect(await onTerminal(['erase', '501'], env, asks, '502')).toEqual({
      code: 1,
      shown:
        'User 501 is Ana Ruiz. To be removed: 3 assessments, and the name in 0 assessments of others. ' +
        `This cannot be undone.\n${asks}502\naxport: that is another id: nothing was changed\n`,
    })
    expect(await run('erasures')).toBe('Nobody was erased.\n')
    const right = await onTerminal(['erase', '501'], env, asks, '501')
    expect(right).toEqual({ code: 0, shown: expect.stringContaining('user         501 is erased\n') })
    expect((await database.sql`select from export_records`).count).toBe(0)
  })

  test('refuses an id that nobody has without --yes, and erasures lists the tombstones', async () => {
    const env = { DATABASE_URL: database.url }
    const unknown = await onTerminal(['erase', '424242'], env)
    expect(unknown).toEqual({
      code: 1,
      shown:
        'axport: nobody in the data has the id 424242: nothing was changed. To keep a person with this id out of ' +
        'later imports: axport erase 424242 --yes\n',
    })
    expect(await run('erase', '9007199254740993', '--yes')).toContain('only the id is kept')
    const tombstones = await run('erasures', '--json')
    expect(tombstones).toContain('"user_id":9007199254740993,')
    expect(JSON.parse(tombstones)).toMatchObject([
      { role: expect.any(String) },
      { user_id: 501, erased_at: expect.stringMatching(/^20.*Z$/) },
    ])
    expect(await run('erasures')).toMatch(/^user id +erased at +role\n9007199254740993 .*\n501 /)
    const folder = emptyFolder()
    writeFileSync(join(folder, 'real'), 'before', { mode: 0o640 })
    symlinkSync('real', join(folder, 'list'))
    const list = join(folder, 'list')
    expect(await run('erasures', '--json', '--out', list)).toBe(`wrote 2 tombstones to ${list}\n`)
    expect(readFileSync(join(folder, 'real'), 'utf8')).toBe(tombstones)
    expect(readdirSync(folder).sort()).toEqual(['list', 'real'])
  })

  test('says until when a page that was read before may be recorded: its request may wait until its deadline', async () => {
    const { sql } = database
    await setDisclosureState(sql, { isOn: true })
    await loadLines(sql, [educator(502), assessment(9050, { organization_id: 11, user_id: 502 })])
    const { url, stop } = listen(database, pino({ level: 'silent' }))
    const token = await newToken(url, await provision(sql, ['11'], ['1']))
    const lock = await sql.reserve()
    await lock`begin`
    await lock`lock table disclosures in share mode`
    const page = getList(url, token)
    await until('the page waits to be recorded', async () => {
      const waiting = await sql`
        select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%record_disclosure%'`
      return waiting.count > 0
    })
    const env = { DATABASE_URL: database.url, STATEMENT_TIMEOUT: '20' }
    const { stdout } = await axport(['erase', '502', '--yes', '--json'], { env })
    const now = Date.now()
    await lock`commit`
    lock.release()
    expect((await page).status).toBe(200)
    await stop()
    const { shown_to, recorded_until } = JSON.parse(stdout)
    expect(shown_to).toEqual([])
    expect(JSON.parse(await run('disclosures', '--user', '502', '--json'))).toMatchObject([{ times: 1 }])
    // Six seconds and STATEMENT_TIMEOUT after the erasure.
    const left = (Date.parse(recorded_until) - now) / 1000
    expect(left).toBeGreaterThan(20)
    expect(left).toBeLessThan(30)
    // A standby may send a page that is ten seconds old.
    const withStandby = { ...env, DATABASE_READ_URL: database.url }
    const before = Date.now()
    const again = await axport(['erase', '502', '--yes', '--json'], { env: withStandby })
    expect((Date.parse(JSON.parse(again.stdout).recorded_until) - before) / 1000).toBeGreaterThan(36)
  })
})
