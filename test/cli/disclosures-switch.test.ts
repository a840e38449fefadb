import { expect, setDefaultTimeout, test } from 'bun:test'
import { type Disclosing, describeDisclosing, readDisclosing } from '../../src/tables/disclosing.ts'
import { axport, errorLine, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { succeed } from '../support/operator.ts'
import { useServedWorld } from '../support/served.ts'
import { onTerminal } from '../support/terminal.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const world = useServedWorld()

const url = () => world.env.DATABASE_URL as string
const migrate = (...args: string[]) => succeed(url(), 'migrate', ...args)

test('migrate switches recording on and off, and config and the first log line of serve show its state', async () => {
  const starts = async () => {
    const running = await world.serve()
    const line = running.log().find(({ msg }) => msg === 'listening')
    await running.end()
    return line?.disclosures
  }
  const shown = async () => {
    const [row] = (
      JSON.parse(await succeed(url(), 'config', '--json')) as { name: string; value: string }[]
    ).slice(-1)
    expect(row?.name).toBe('disclosures')
    return row?.value
  }
  const off = 'off, kept for 400 days'
  expect([await shown(), await starts()]).toEqual([off, 'off'])
  const on = 'on, kept for 30 days'
  expect(await migrate('--disclosures', 'on', '--disclosures-keep', '30d')).toContain(
    `disclosures are now ${on}\n`,
  )
  expect(await migrate('--disclosures', 'ON')).toContain(`disclosures are ${on} already\n`)
  expect([await shown(), await starts()]).toEqual([on, 'on'])
  expect(
    JSON.parse(await migrate('--disclosures', 'off', '--disclosures-keep', 'forever', '--json')),
  ).toEqual({
    applied: [],
    disclosures: { on: false, kept: null, changed: true },
    granted: [],
  })
  expect(await shown()).toBe('off, kept for ever')
})

test('a shorter time asks with the number of disclosures that it deletes, and needs --yes without a terminal', async () => {
  await migrate('--disclosures-keep', '400d')
  const answer = (days: number) => world.sql`
    insert into disclosures (key, at, history_id, request_id, assessment_ids, user_ids)
    select gen_random_uuid(), now() - make_interval(days => ${days}), max(id), 'r', '{1}', '{1}' from integration_history`
  for (const days of [39, 41, 100]) await answer(days)
  const kept = async () => describeDisclosing((await readDisclosing(world.sql)) as Disclosing)
  const zone = async () => (await world.sql`select time_zone from export_state`)[0]?.time_zone
  const args = ['migrate', '--time-zone', 'America/Chicago', '--disclosures-keep', '40d']
  const what = expect.stringMatching(
    /^--disclosures-keep 40d lets the services delete 2 disclosures within a minute, and the others as they grow older; the oldest one is of 20\S+Z/,
  )
  const refused = errorLine(await axport(args, { env: world.env }), 2)
  expect(refused).toEqual(what)
  expect(refused).toEndWith('no terminal to confirm on: the same command with --yes')
  const wrong = await onTerminal(args, world.env, 'Type 40d again: ', 'yes')
  expect(wrong).toEqual({ code: 1, shown: what })
  expect([await kept(), await zone()]).toEqual(['off, kept for 400 days', 'UTC'])
  // A longer time deletes nothing. A shorter one that deletes nothing now does so later.
  await migrate('--disclosures-keep', '500d')
  const later = await axport(['migrate', '--disclosures-keep', '101d'], { env: world.env })
  expect(errorLine(later, 2)).toStartWith(
    '--disclosures-keep 101d lets the services delete 0 disclosures within a minute',
  )
  expect(await onTerminal(args, world.env, 'Type 40d again: ', '40d')).toMatchObject({ code: 0 })
  await migrate('--disclosures-keep', '30d', '--yes')
  expect(await kept()).toBe('off, kept for 30 days')
})

test.each([
  [['--disclosures', 'perhaps'], 'Give one of on, off'],
  [['--disclosures-keep', '12h'], 'Give a number of days, as 400d, or forever'],
  [['--disclosures-keep', '0d'], 'Give a number of days, as 400d, or forever'],
])('axport migrate %j is a wrong call', async (args, why) => {
  expect(errorLine(await axport(['migrate', ...args], { env: world.env }), 2)).toContain(why)
})
