import { expect } from 'bun:test'
import { Load, type Tolerance } from './load.ts'
import { FlakyProxy } from './proxy.ts'
import { recovers } from './recovery.ts'
import { LONGEST_MS, POOL, type Service, startService, stateLines } from './service.ts'
import { Watch } from './watch.ts'
import type { World } from './world.ts'

/** The service under load behind a proxy. */
export interface Trial {
  proxy: FlakyProxy
  service: Service
  load: Load
  watch: Watch
  /** Waits until the API refuses by 503, and /ready because of the database: what it says. */
  untilDown(): Promise<string>
  /** Holds that all endpoints and /ready are well within 2 s, or so many milliseconds, from this call on. */
  recovers(within?: number): Promise<void>
  /** Waits until the load has had so many more pages. */
  untilServed(pages: number): Promise<void>
}

export interface TrialOptions extends Tolerance {
  workers?: number
  env?: Record<string, string>
  /** Clients that walk. */
  walkers?: number
  /** Changes of state that the log has to tell: lines of it that are not about requests, in one process. */
  logLines: { least: number; most: number }
}

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
  const { workers = 1, walkers = 4, env = {}, logLines, ...tolerance } = options
  const proxy = await FlakyProxy.start(world.victim.port)
  const url = new URL(world.url)
  url.port = String(proxy.port)
  const service = await startService(url.href, { workers, env })
  const load = new Load(service.url, world.credentials, world.truth, { longest: LONGEST_MS, ...tolerance })
  const watch = new Watch(service.adminUrl, url.password)
  const probe = load.client()
  const untilServed = (pages: number) => {
    const goal = load.count('list', 200) + pages
    return until(
      () => load.count('list', 200) >= goal,
      () => `no pages: ${load.summary()}`,
    )
  }
  const untilDown = async () => {
    const refused = load.count('list', 503)
    const reason = await watch.unready()
    await until(
      () => load.count('list', 503) > refused,
      () => `no 503: ${load.summary()}`,
    )
    return reason
  }
  try {
    await probe.askToken()
    load.start(walkers)
    await untilServed(20)
    await act({
      ...{ proxy, service, load, watch, untilServed, untilDown },
      recovers: async within =>
        console.log(`  recovered (ms): ${JSON.stringify(await recovers(probe, watch, load.someId, within))}`),
    })
    // The walk under way may have begun before the end of it all.
    const walks = load.walks + walkers
    await until(
      () => load.walks > walks,
      () => `no walk comes to its end: ${load.summary()}`,
    )
    await Promise.all([load.stop(), watch.stop()])
    console.log(`  ${load.summary()}`)
    expect([...load.report(), ...watch.report()]).toEqual([])
    expect(service.exitCode()).toBeUndefined()
    await expectQuiet(world, proxy, workers)
    const lines = stateLines(service).length / workers
    expect(
      lines,
      stateLines(service)
        .map(line => JSON.stringify(line))
        .join('\n'),
    ).toBeWithin(logLines.least, logLines.most + 1)
    service.signal('SIGTERM')
    const { code, stderr } = await service.finished
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
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
  let now = { open: 0, busy: 0 }
  const isQuiet = async () => {
    now = await victim.connections()
    return now.busy === 0 && now.open <= most && proxy.connections <= most
  }
  await until(isQuiet, () => `${JSON.stringify(now)} and ${proxy.connections} at the proxy, of ${most}`)
}

async function until(condition: () => boolean | Promise<boolean>, complaint: () => string): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(complaint())
    await Bun.sleep(20)
  }
}
