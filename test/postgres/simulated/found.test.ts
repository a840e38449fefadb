import { expect, test } from 'bun:test'
import type { Action, Setting } from './plan.ts'
import { Simulation } from './simulation.ts'

/** Faults that the simulation has found, as the shortest schedules. Each runs with this many seeds. */
const SEEDS = 40

const SETTING: Setting = { size: 1, wait: 1500, statement: 3000, hosts: 1, isPooled: false, wanted: 'any' }

const ask = (after: number, takes: number, hangsUpAfter: number | null = null): Action => ({
  does: 'ask',
  after,
  lane: 'a',
  statement: { takes, ends: 'rows', isWrite: false, isTrickling: false },
  isForRequest: true,
  hangsUpAfter,
})

const lasting = (after: number, kind: 'silent' | 'closing' | 'forgetful', lasts: number): Action => ({
  does: 'trouble',
  after,
  kind,
  host: 0,
  lasts,
})

const close = (after: number): Action => ({ does: 'close', after })

const plans: [string, Partial<Setting>, Action[]][] = [
  [
    'a closed pool does not try a second time to open a connection',
    {},
    [lasting(0, 'closing', 5000), ask(1, 5), close(10)],
  ],
  [
    'while a database is gone, there are no more attempts to connect than the pool may have connections',
    {},
    [lasting(0, 'silent', 6000), ask(1, 5)],
  ],
  [
    'a client that hangs up while an idle connection is tested leaves the queue',
    {},
    [
      ask(0, 5),
      { does: 'trouble', after: 31_000, kind: 'forget one', host: 0, which: 0 },
      lasting(0, 'silent', 4000),
      ask(1, 5, 500),
    ],
  ],
  ['the first probe of a silent server ends with the pool', {}, [ask(0, 2900), close(766)]],
  [
    'the connection of the last probe is not closed for its age while another probe uses it',
    { wait: 5000, isPooled: true },
    [
      ask(0, 1933),
      lasting(31_008, 'forgetful', 104),
      ask(369, 17),
      { does: 'stop', after: 245, lasts: 2953 },
    ],
  ],
  ['a later probe ends with the pool, and opens no connection', {}, [ask(0, 2900), close(1253)]],
]

test.each(plans)('%s', (_, setting, actions) => {
  const faults = Array.from({ length: SEEDS }, (_, seed) =>
    new Simulation({ seed, setting: { ...SETTING, ...setting }, actions }).run(),
  )
  expect(new Set(faults)).toEqual(new Set([undefined]))
})
