import { expect, test } from 'bun:test'
import { RECOVERY } from './observer.ts'
import { World } from './world.ts'

const SETTING = {
  size: 4,
  wait: 10_000,
  statement: 5000,
  hosts: 2,
  isPooled: false,
  wanted: 'read-write',
} as const

const WRITE = { takes: 5, ends: 'rows', isWrite: true, isTrickling: false } as const

/** The milliseconds from the promotion of the second host to the first answer, while the first host stays silent. */
function recovery(seed: number): number {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  const world = new World({ seed, setting: SETTING, actions: [] })
  const { time, observer, hosts } = world
  const [first, second] = hosts
  const ask = () => world.ask({ lane: '', statement: WRITE, isForRequest: true, hangsUpAfter: null })
  const goOn = (milliseconds: number) => world.goOn(time.now() + milliseconds)
  ask()
  goOn(100)
  observer.trouble(Number.POSITIVE_INFINITY)
  observer.lost = Number.POSITIVE_INFINITY
  // The machine of the first host has lost its power.
  for (const link of first?.links ?? []) link.forget()
  if (first) first.isSilent = true
  for (let asked = 0; asked < 20; asked++) {
    ask()
    goOn(1000 + 37 * (seed % 28))
  }
  if (second) second.isStandby = false
  const promotedAt = time.now()
  const isAnswered = () =>
    observer.questions.some(({ id, outcome }) => id > 0 && outcome !== undefined && 'rows' in outcome)
  while (!isAnswered() && observer.fault === undefined && time.now() < promotedAt + 60_000) {
    ask()
    goOn(20)
  }
  Error.stackTraceLimit = stackTraceLimit
  expect(observer.fault).toBeUndefined()
  return time.now() - promotedAt
}

test('a promoted second host is found in time although the first one never answers', () => {
  const slowest = Math.max(...Array.from({ length: 40 }, (_, seed) => recovery(seed)))
  // The last requests before it had failed at once. Those after it are 20 ms apart.
  expect(slowest).toBeLessThan(RECOVERY + 100)
})
