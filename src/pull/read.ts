import { Client } from './client.ts'
import type { PullJob, Watcher } from './job.ts'
import { queryString } from './query.ts'
import { type Batch, type Position, walk } from './walk.ts'

/** The walk of a job, from `position` on, which tells how far it is, and whether the data grew on the way. */
export async function* read(job: PullJob, position: Position, watcher: Watcher): AsyncGenerator<Batch> {
  const query = queryString(job.query)
  const client = new Client(job.service, job.patience, watcher.onPause)
  const resumed = position.ids.size
  let first: number | undefined
  for await (const batch of walk(offset => client.list(`${query}&offset=${offset}`), position)) {
    first ??= batch.count
    watcher.onProgress({ phase: 'pulling', done: batch.written, total: batch.count, resumed })
    yield batch
  }
  if (position.count !== first)
    watcher.onNote(`${first} assessments became ${position.count} while they were read; all of these are in`)
}
