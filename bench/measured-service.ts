import type { Credentials } from '../test/support/walk.ts'
import { type Job, type Outcome, runLoad } from './job.ts'
import type { Result } from './results.ts'
import { authorize, type Service, startService } from './service.ts'
import type { Deployment, Scope, World } from './world.ts'

/** A measure: its name, and a function that returns lines of the table. */
export interface Measure {
  name: string
  run(world: World): Promise<Result[]>
}

/** A service for one measure, with a client. */
export interface MeasuredService {
  service: Service
  credentials: Credentials
  headers: { authorization: string }
  load(job: Partial<Job> & Pick<Job, 'paths'>): Promise<Outcome>
  /**
   * Load before a measurement. Bun compiles code that runs often for some twenty seconds, and a service runs for weeks.
   */
  warmUp(job: Partial<Job> & Pick<Job, 'paths'>): Promise<unknown>
  /** Requests a second, for the seconds of one measurement. */
  rate(job: Partial<Job> & Pick<Job, 'paths'>): Promise<number>
}

/** The duration of the warm-up, in measurements. */
const WARM_UP = 7

/** Runs `work` on a new service with empty page memory, for an integration with this scope. */
export async function withService<Value>(
  world: World,
  scope: Scope,
  work: (measured: MeasuredService) => Promise<Value>,
  deployment: Deployment = world,
): Promise<Value> {
  const credentials = await world.provision(deployment, scope)
  const service = await startService(deployment.executable, deployment.databaseUrl)
  try {
    const headers = await authorize(service.url, credentials)
    const { connections, seconds } = world.options
    const load: MeasuredService['load'] = job => runLoad({ url: service.url, connections, headers, ...job })
    const rate: MeasuredService['rate'] = async job => {
      const outcome = await load({ seconds, ...job })
      return outcome.requests / outcome.seconds
    }
    const warmUp: MeasuredService['warmUp'] = job => load({ seconds: WARM_UP * seconds, ...job })
    return await work({ service, credentials, headers, load, warmUp, rate })
  } finally {
    await service.stop()
  }
}

/** Runs `work` on a service of the present executable and, if there is one, another of the earlier executable. */
export function withBoth<Value>(
  world: World,
  scope: Scope,
  work: (present: MeasuredService, before?: MeasuredService) => Promise<Value>,
): Promise<Value> {
  const { before } = world
  return withService(world, scope, present =>
    before ? withService(world, scope, earlier => work(present, earlier), before) : work(present),
  )
}

/** Milliseconds of paths that one client requests one after the other, on a service with empty page memory. */
export async function latenciesOf(world: World, scope: Scope, paths: string[]): Promise<number[]> {
  return (await withService(world, scope, ({ load }) => load({ paths, connections: 1 }))).latencies
}
