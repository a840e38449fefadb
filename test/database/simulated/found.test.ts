import { expect, test } from 'bun:test'
import type { Action, Setting } from './plan.ts'
import type { Statement } from './process.ts'
import { Simulation } from './simulation.ts'

/** Faults that the simulation has found, as the shortest schedules. Each runs with this many seeds. */
const SEEDS = 40

const SETTING: Setting = { size: 1, wait: 1500, statement: 3000, hosts: 1, isPooled: false, wanted: 'any' }

const plain = (takes: number): Statement => ({ takes, ends: 'rows', isWrite: false, isTrickling: false })

const ask = (after: number, takes: number, hangsUpAfter: number | null = null) =>
  ({
    does: 'ask',
    after,
    lane: 'a',
    statement: plain(takes),
    isForRequest: true,
    hangsUpAfter,
  }) satisfies Action

/** What a lease of several statements does beyond its first one. */
const ALONE = { isTransaction: false, failsItself: false }

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
    'while a database is gone, there is one attempt at a time to connect if the pool may have one connection',
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
  [
    'a statement is repeated in time if the network drops its connection and the one of the last probe',
    { wait: 5000, statement: 1000 },
    [ask(0, 5), ask(246, 1500), lasting(1154, 'forgetful', 50)],
  ],
  [
    'a probe whose kept connection ends with the pool opens no other one',
    { wait: 1000, statement: 1000 },
    [ask(487, 1241), { does: 'stop', after: 432, lasts: 7427 }, close(10)],
  ],
  [
    'of several idle connections that the network has dropped, a request tests one',
    { size: 10, wait: 1000, statement: 500 },
    [...Array.from({ length: 10 }, () => ask(0, 100)), lasting(31_000, 'forgetful', 50), ask(200, 5)],
  ],
  [
    'a lease whose time ends between two statements fails because of its time',
    { wait: 1000, statement: 500 },
    [{ ...ask(188, 17), further: { ...ALONE, statements: [plain(11)], pause: 1594 } }],
  ],
]

test.each(plans)('%s', (_, setting, actions) => {
  const faults = Array.from({ length: SEEDS }, (_, seed) =>
    new Simulation({ seed, setting: { ...SETTING, ...setting }, actions }).run(),
  )
  expect(new Set(faults)).toEqual(new Set([undefined]))
})

test('all probes during slow statements use one connection', () => {
  for (let seed = 0; seed < SEEDS; seed++) {
    const trace: string[] = []
    // The server is probed after each 300 ms without an answer.
    const actions = [ask(0, 5), ask(50, 9000), ask(10_000, 9000)]
    new Simulation({ seed, setting: { ...SETTING, statement: 10_000 }, actions }, trace).run()
    const during = trace.slice(
      0,
      trace.findIndex(line => line.endsWith('2 is over: rows')),
    )
    const counts = during.flatMap(line => /connections: (\d+)/.exec(line)?.[1] ?? [])
    expect(counts).toEqual(['1', '2'])
  }
})

test('the connection of the probes is closed half a minute after the last probe', () => {
  for (let seed = 0; seed < SEEDS; seed++) {
    const trace: string[] = []
    // The last probe comes between 1500 and 4050.
    const actions = [ask(0, 5), ask(50, 3000), ask(36_000, 5)]
    new Simulation({ seed, setting: { ...SETTING, statement: 10_000 }, actions }, trace).run()
    const changes = trace.filter(line => line.includes('connections: '))
    expect(changes.map(line => line.at(-1))).toEqual(['1', '2', '1', '0'])
    expect(Number.parseFloat(changes[2] as string)).toBeWithin(31_500, 34_500)
  }
})
