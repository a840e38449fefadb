import { expect, setDefaultTimeout, test } from 'bun:test'
import { openDatabase } from '../../src/postgres/database.ts'
import { MIGRATIONS } from '../../src/postgres/schema/migrations.ts'
import { compareSchema } from '../../src/postgres/schema/schema-record.ts'
import { detailOf } from '../support/doctor.ts'
import { axport, errorLine, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { succeed } from '../support/operator.ts'
import { useServedWorld } from '../support/served.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const world = useServedWorld()

/** The migrations that a program older than the recording of disclosures knows. */
const OLDER = MIGRATIONS.filter(({ name }) => name < '0008')

const url = () => world.env.DATABASE_URL as string
const migrate = (...args: string[]) => succeed(url(), 'migrate', ...args)
const older = async () => {
  const { sql, close } = await openDatabase(url(), 1)
  return await compareSchema(sql, OLDER).finally(close)
}

test('migrate switches recording on and off, and config, doctor and the first log line of serve show its state', async () => {
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
    return [row?.value, await detailOf(url(), 'disclosures')]
  }
  const off = 'off, kept for 400 days'
  expect([await shown(), await starts()]).toEqual([[off, off], 'off'])
  const on = 'on, kept for 30 days'
  expect(await migrate('--disclosures', 'on', '--disclosures-keep', '30d')).toContain(
    `disclosures are now ${on}\n`,
  )
  expect(await migrate('--disclosures', 'ON')).toContain(`disclosures are ${on} already\n`)
  expect([await shown(), await starts()]).toEqual([[on, on], 'on'])
  expect(
    JSON.parse(await migrate('--disclosures', 'off', '--disclosures-keep', 'forever', '--json')),
  ).toEqual({
    applied: [],
    disclosures: { on: false, kept: null, changed: true },
    granted: [],
  })
  expect(await detailOf(url(), 'disclosures')).toBe('off, kept for ever')
})

test('a program that cannot record disclosures refuses the database while recording is on, and serves it otherwise', async () => {
  expect((await older()).ahead).toContain('0008_disclosures')
  await migrate('--disclosures', 'on')
  await expect(older()).rejects.toThrow('0008_disclosures, unknown to this axport: run a newer axport')
  await migrate('--disclosures', 'off')
  expect((await older()).missing).toEqual([])
})

test.each([
  [['--disclosures', 'perhaps'], 'Give one of on, off'],
  [['--disclosures-keep', '12h'], 'Give a number of days, as 400d, or forever'],
  [['--disclosures-keep', '0d'], 'Give a number of days, as 400d, or forever'],
])('axport migrate %j is a wrong call', async (args, why) => {
  expect(errorLine(await axport(['migrate', ...args], { env: world.env }), 2)).toContain(why)
})
