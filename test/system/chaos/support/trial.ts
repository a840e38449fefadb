import { expect } from 'bun:test'
import { FlakyProxy } from '../../../support/flaky-proxy.ts'
import { until } from '../../../support/until.ts'
import { Load, type Tolerance } from './load.ts'
import { recovers } from './recovery.ts'
import { LONGEST_MS, POOL, startService, stateLines } from './service.ts'
import { Watch } from './watch.ts'
import type { World } from './world.ts'

/** The service under load behind a proxy. */
export interface Trial {
  proxy: FlakyProxy
  load: Load
  watch: Watch
  /** Waits until the API refuses by 503, and /ready because of the database. */
  untilDown(): Promise<unknown>
  /** Holds that all endpoints and /ready are well within 2 s from this call on. */
  recovers(): Promise<void>
  /** Waits until the load has had so many more pages. */
  untilServed(pages: number): Promise<unknown>
}

export interface TrialOptions extends Tolerance {
  workers?: number
  env?: Record<string, string>
  /** Changes of state that the log has to tell: lines of it that are not about requests, in one process. */
  logLines: { least: number; most: number }
}

/** Clients that walk. */
const WALKERS = 4

/** Milliseconds for anything that has to happen in the end. */
const PATIENCE_MS = 60_000

/**
 * Starts the service on a world, puts it under load, lets `act` do its worst, and then looks at what is left:
 * every answer was right or a documented refusal, a walk after it was whole, /live never failed, the same
 * process runs, no connection is left over, the log tells changes of state and not requests, and it ends well.
 */
export async function trial(
  world: World,
  options: TrialOptions,
  act: (trial: Trial) => Promise<void>,
): Promise<void> {
  const { workers = 1, env = {}, logLines, ...tolerance } = options
  const proxy = await FlakyProxy.start(world.url)
  const service = await startService(proxy.url, { workers, env })
  const load = new Load(service.url, world.credentials, world.truth, { longest: LONGEST_MS, ...tolerance })
  const watch = new Watch(service.admin, new URL(world.url).password)
  const probe = load.client()
  const untilServed = (pages: number) => {
    const goal = load.count('list', 200) + pages
    return until(`${pages} more pages are served`, () => load.count('list', 200) >= goal, PATIENCE_MS)
  }
  const untilDown = async () => {
    const refused = load.count('list', 503)
    await watch.unready()
    await until('a page is refused', () => load.count('list', 503) > refused, PATIENCE_MS)
  }
  try {
    await probe.askToken()
    load.start(WALKERS)
    await untilServed(20)
    await act({
      ...{ proxy, load, watch, untilServed, untilDown },
      recovers: () => recovers(probe, watch, load.someId),
    })
    // The walk under way may have begun before the end of it all.
    const walks = load.walks + WALKERS
    await until('walks come to their end', () => load.walks > walks, PATIENCE_MS)
    await Promise.all([load.stop(), watch.stop()])
    expect([...load.faults.report(), ...watch.faults.report()]).toEqual([])
    expect(service.exitCode()).toBeUndefined()
    await expectQuiet(world, proxy, workers)
    const lines = stateLines(service)
    const told = lines.map(line => JSON.stringify(line)).join('\n')
    expect(lines.length / workers, told).toBeWithin(logLines.least, logLines.most + 1)
    await service.end()
  } catch (error) {
    console.log(`  ${load.summary()}`)
    throw error
  } finally {
    await Promise.all([load.stop(), watch.stop()])
    service.signal('SIGKILL')
    await service.finished
    await proxy.stop()
    await world.victim.mend()
  }
}

/** No connection is in the middle of anything, and there are no more than the pools may hold. */
async function expectQuiet({ victim }: World, proxy: FlakyProxy, workers: number): Promise<void> {
  const most = POOL * workers
  const isQuiet = async () => {
    const { open, busy } = await victim.connections()
    if (busy === 0 && open <= most && proxy.connections <= most) return true
    throw new Error(`${busy} busy of ${open}, ${proxy.connections} at the proxy, at most ${most} are kept`)
  }
  await until('no connection is busy or left over', isQuiet, PATIENCE_MS)
}
