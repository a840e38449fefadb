import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { type ConnectionState, FOLLOWERS } from '../../../src/database/connection/connection-state.ts'
import { Plans } from './plan.ts'
import { Simulation } from './simulation.ts'

type Name = ConnectionState['is']

const NAMES = Object.keys(FOLLOWERS) as Name[]

test('connections make every transition of the table, and no other', () => {
  const allowed = NAMES.flatMap(from => FOLLOWERS[from].map(to => `${from} → ${to}`))
  const made = new Set<string>()
  const table = FOLLOWERS as Record<Name, readonly Name[]>
  const before = { ...table }
  for (const from of NAMES)
    table[from] = Object.assign([...before[from]], {
      includes: (to: Name) => {
        made.add(`${from} → ${to}`)
        return before[from].includes(to)
      },
    })
  try {
    for (const plan of fc.sample(new Plans(20), { numRuns: 1000, seed: 1 }))
      expect(new Simulation(plan).run()).toBeUndefined()
  } finally {
    Object.assign(table, before)
  }
  expect([...made].sort()).toEqual(allowed.sort())
})
