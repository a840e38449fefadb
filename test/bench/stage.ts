import type { Credentials } from '../support/walk.ts'
import { type Job, type Outcome, runLoad } from './job.ts'
import type { Result } from './results.ts'
import { authorize, type Service, startService } from './service.ts'
import type { Scope, World } from './world.ts'

/** Something to be measured, by name; gives lines of the table. */
export interface Measure {
  name: string
  run(world: World): Promise<Result[]>
}

/** A service that runs for one measure, and a client of it. */
export interface Stage {
  service: Service
  credentials: Credentials
  headers: { authorization: string }
  load(job: Partial<Job> & Pick<Job, 'paths'>): Promise<Outcome>
  /** Load before anything is measured: Bun compiles code that is used often, for some twenty seconds; a service runs for weeks. */
  warmUp(job: Partial<Job> & Pick<Job, 'paths'>): Promise<unknown>
  /** Requests a second, over and over for the seconds of one measurement. */
  rate(job: Partial<Job> & Pick<Job, 'paths'>): Promise<number>
}

/** Measurements that warming up takes. */
const WARM_UP = 7

/** Runs `work` on a service of its own, which remembers nothing, for an integration with this scope. */
export async function onStage<Value>(
  world: World,
  scope: Scope,
  work: (stage: Stage) => Promise<Value>,
  databaseUrl = world.databaseUrl,
): Promise<Value> {
  const credentials = await world.provision(databaseUrl, scope)
  const service = await startService(world.executable, databaseUrl)
  try {
    const headers = await authorize(service.url, credentials)
    const { connections, seconds } = world.options
    const load: Stage['load'] = job => runLoad({ url: service.url, connections, headers, ...job })
    const rate: Stage['rate'] = async job => {
      const outcome = await load({ seconds, ...job })
      return outcome.requests / outcome.seconds
    }
    const warmUp: Stage['warmUp'] = job => load({ seconds: WARM_UP * seconds, ...job })
    return await work({ service, credentials, headers, load, warmUp, rate })
  } finally {
    await service.stop()
  }
}

/** Milliseconds of paths that one client asks for one after the other, on a service that remembers nothing. */
export async function latenciesOf(world: World, scope: Scope, paths: string[]): Promise<number[]> {
  return (await onStage(world, scope, ({ load }) => load({ paths, connections: 1 }))).latencies
}
