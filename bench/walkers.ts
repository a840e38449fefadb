import { type Outcome, runLoads } from './job.ts'
import { authorize, startService } from './service.ts'
import type { Deployment, Scope, World } from './world.ts'

/** A client that requests paths one after the other, as an integration of its own. */
export interface Walker {
  scope: Scope
  paths: string[]
}

/**
 * Lets walkers request their paths at the same time, from a service with empty page memory. The outcomes are in the order
 * of the walkers.
 */
export async function walkTogether(
  world: World,
  deployment: Deployment,
  walkers: Walker[],
): Promise<Outcome[]> {
  const all = []
  for (const { scope, paths } of walkers)
    all.push({ paths, credentials: await world.provision(deployment, scope) })
  const service = await startService(deployment.executable, deployment.databaseUrl)
  try {
    const jobs = []
    for (const { paths, credentials } of all) {
      const headers = await authorize(service.url, credentials)
      jobs.push({ url: service.url, connections: 1, headers, paths })
    }
    return await runLoads(jobs)
  } finally {
    await service.stop()
  }
}
