import { expect } from 'bun:test'
import { FlakyProxy } from '../../../support/flaky-proxy.ts'
import { until } from '../../../support/until.ts'
import { HealthProbe } from './health-probe.ts'
import { Load, type Tolerance } from './load.ts'
import { recovers } from './recovery.ts'
import { LONGEST_MS, POOL, startService, stateLines } from './service.ts'
import type { World } from './world.ts'

/** A service under load, which reaches its database through a proxy. */
export interface Trial {
  proxy: FlakyProxy
  load: Load
  probe: HealthProbe
  /** Waits until the API answers 503, and /ready answers 503 because of the database. */
  untilDown(): Promise<unknown>
  /** Checks that all endpoints and /ready answer 200 again. */
  recovers(): Promise<void>
  /** Waits until the load has received this many further pages. */
  untilServed(pages: number): Promise<unknown>
}

export interface TrialOptions extends Tolerance {
  env?: Record<string, string>
  /** The number of log lines about changes of state, not about requests. */
  logLines: { least: number; most: number }
}

/** The number of clients that walk. */
const WALKERS = 3

/** The time limit for every condition that must become true, in milliseconds. */
const TIMEOUT_MS = 60_000

/**
 * Starts the service on a world, puts it under load, and lets `act` cause outages. Then checks that every answer was
 * right or a documented error, a walk afterwards was complete, /live never failed, the same process runs, no connection
 * is left over, the log has `logLines` changes of state, and the service exits with 0.
 */
export async function trial(
  world: World,
  options: TrialOptions,
  act: (trial: Trial) => Promise<void>,
): Promise<void> {
  const { env, logLines, ...tolerance } = options
  const proxy = await FlakyProxy.start(world.url)
  const service = await startService(proxy.url, env)
  const load = new Load(service.url, world.credentials, world.truth, { longest: LONGEST_MS, ...tolerance })
  const probe = new HealthProbe(service.admin, new URL(world.url).password)
  const client = load.client()
  const untilServed = (pages: number) => {
    const goal = load.count('list', 200) + pages
    return until(`${pages} more pages are served`, () => load.count('list', 200) >= goal, TIMEOUT_MS)
  }
  const untilDown = async () => {
    const refused = load.count('list', 503)
    await probe.unready()
    await until('a page is refused', () => load.count('list', 503) > refused, TIMEOUT_MS)
  }
  try {
    await client.requestToken()
    await load.start(WALKERS)
    await world.postgres.flush()
    await untilServed(20)
    await act({
      proxy,
      load,
      probe,
      untilServed,
      untilDown,
      recovers: () => recovers(client, probe, load.someId),
    })
    // The current walk of each walker may have begun before the end of the outage.
    const walks = load.walks + WALKERS
    await until('each walker has completed a further walk', () => load.walks > walks, TIMEOUT_MS)
    await Promise.all([load.stop(), probe.stop()])
    expect([...load.faults.report(), ...probe.faults.report()]).toEqual([])
    expect(service.exitCode()).toBeUndefined()
    await expectQuiet(world, proxy)
    const lines = stateLines(service)
    const details = lines.map(line => JSON.stringify(line)).join('\n')
    expect(lines.length, details).toBeWithin(logLines.least, logLines.most + 1)
    await service.end()
  } catch (error) {
    console.log(`  ${load.summary()}`)
    throw error
  } finally {
    await Promise.all([load.stop(), probe.stop()])
    service.signal('SIGKILL')
    await service.finished
    await proxy.stop()
    await world.postgres.mend()
  }
}

/**
 * Checks that no connection runs a statement, and that there are no more connections than the pool may hold, and that of the
 * watchdog.
 */
async function expectQuiet({ postgres }: World, proxy: FlakyProxy): Promise<void> {
  const isQuiet = async () => {
    const { open, busy } = await postgres.connections()
    if (busy === 0 && open <= POOL + 1 && proxy.connections <= open) return true
    throw new Error(
      `${busy} busy of ${open}, ${proxy.connections} at the proxy, at most ${POOL + 1} are kept`,
    )
  }
  await until('no connection is busy or left over', isQuiet, TIMEOUT_MS)
}
