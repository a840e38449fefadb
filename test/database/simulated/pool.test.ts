import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { holds } from '../../support/property.ts'
import { type Plan, Plans } from './plan.ts'
import { Simulation } from './simulation.ts'

/** The milliseconds for shortening a failing schedule. */
const SHORTENING = 20_000

/** The first fault of a schedule with all events before it; undefined if there is none. */
function faultOf(plan: Plan): string | undefined {
  if (new Simulation(plan).run() === undefined) return undefined
  const trace: string[] = []
  const fault = new Simulation(plan, trace).run()
  const end = trace.findIndex(line => line.includes('WRONG'))
  return [fault, ...trace.slice(0, end)].join('\n')
}

test('the invariants of the pool hold under any failures of the database, the network and the clients', async () => {
  let end = Number.POSITIVE_INFINITY
  const property = fc.property(new Plans(20), plan => {
    if (performance.now() > end) return
    const fault = faultOf(plan)
    if (fault === undefined) return
    end = Math.min(end, performance.now() + SHORTENING)
    throw new Error(fault)
  })
  await holds(property, { runs: 3000, thorough: 4000 })
})

test('equal schedules give equal events', () => {
  for (const plan of fc.sample(new Plans(20), { numRuns: 20, seed: 1 })) {
    const [first, second] = [[], []] as [string[], string[]]
    new Simulation(plan, first).run()
    new Simulation(plan, second).run()
    expect(second).toEqual(first)
  }
})
