import { expect, setDefaultTimeout, test } from 'bun:test'
import { axport, errorLine, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { succeed } from '../support/operator.ts'
import { useServedWorld } from '../support/served.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const world = useServedWorld()

const url = () => world.env.DATABASE_URL as string
const migrate = (...args: string[]) => succeed(url(), 'migrate', ...args)

test('migrate switches recording on and off; disclosures and the first log line of serve show the state', async () => {
  const starts = async () => {
    const running = await world.serve()
    const line = running.log().find(({ msg }) => msg === 'listening')
    await running.end()
    return line?.disclosures
  }
  const shown = async () => {
    const { stderr } = await axport(['disclosures'], { env: world.env })
    return /^The record is (.*?);/.exec(stderr)?.[1]
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

test('a shorter time is set without a question', async () => {
  await migrate('--disclosures-keep', '400d')
  expect(await migrate('--disclosures-keep', '40d')).toContain('disclosures are now off, kept for 40 days\n')
})

test.each([
  [['--disclosures', 'perhaps'], 'Give one of on, off'],
  [['--disclosures-keep', '12h'], 'Give a number of days, as 400d, or forever'],
  [['--disclosures-keep', '0d'], 'Give a number of days, as 400d, or forever'],
])('axport migrate %j is a wrong call', async (args, why) => {
  expect(errorLine(await axport(['migrate', ...args], { env: world.env }), 2)).toContain(why)
})
