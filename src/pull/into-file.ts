import { closeSync, openSync, rmSync } from 'node:fs'
import { Failure, IncompleteFailure, TransientFailure } from '../errors.ts'
import { PRIVATE, publish, writeFailure, writeFully } from '../files.ts'
import { sha256 } from '../random.ts'
import { type Form, writeAs } from './formats.ts'
import type { PullJob, PullResult, Watcher } from './job.ts'
import { PartialFile } from './partial-file.ts'
import { queryString } from './query.ts'
import { read } from './read.ts'
import { Changed } from './walk.ts'

/** Data that changes that often changes faster than it can be read. */
const MOST_STARTS = 5

/**
 * Reads the list into a partial file of NDJSON, whatever the format, so that every run can go on where any other
 * one ended; then makes the output of it, at once.
 * @throws IncompleteFailure where the same command may go on with what is kept; Failure where something has to be mended, or nothing is
 */
export async function pullIntoFile(job: PullJob, output: string, watcher: Watcher): Promise<PullResult> {
  const partial = new PartialFile(output, digestOf(job))
  watcher.signal.addEventListener('abort', () => partial.leave())
  try {
    const resumed = await partial.resume(done =>
      watcher.onProgress({ phase: 'resuming', done, total: partial.position.count ?? done }),
    )
    if (resumed > 0) {
      watcher.onNote(`going on after ${resumed} assessments of an interrupted run`)
      watcher.onProgress({
        phase: 'pulling',
        done: resumed,
        total: partial.position.count ?? resumed,
        resumed,
      })
    }
    const restarts = await fill(partial, job, watcher)
    const { records } = partial
    if (job.format === 'ndjson' && !job.compression) await partial.publish()
    else await convert(partial, job, output, watcher)
    return { records, resumed: restarts > 0 ? 0 : resumed, restarts }
  } catch (error) {
    const { records, position } = partial
    partial.leave()
    if (!(error instanceof Failure) || records === 0) throw error
    const kept = `${error.message}; ${records} of ${position.count} assessments are kept`
    if (error instanceof TransientFailure)
      throw new IncompleteFailure(`${kept}: run the same command again to go on`)
    throw new Failure(`${kept} for when that is mended`)
  }
}

/** Reads until all is in; returns how often it had to begin again. */
async function fill(partial: PartialFile, job: PullJob, watcher: Watcher): Promise<number> {
  for (let restarts = 0; ; restarts++) {
    try {
      for await (const batch of read(job, partial.position, watcher)) partial.append(batch)
      return restarts
    } catch (error) {
      if (!(error instanceof Changed)) throw error
      const total = partial.position.count ?? 0
      partial.clear()
      watcher.onProgress({ phase: 'pulling', done: 0, total, resumed: 0 })
      if (restarts + 1 === MOST_STARTS)
        throw new Failure(
          `the data changed ${MOST_STARTS} times while it was read (${error.message}): pull when nothing is imported`,
        )
      watcher.onNote(`the data changed (${error.message}): starting over`)
    }
  }
}

/** Writes the finished lines in another form beside the output, and makes that the output. */
async function convert(partial: PartialFile, form: Form, output: string, watcher: Watcher): Promise<void> {
  const draft = `${output}.draft`
  const discard = () => rmSync(draft, { force: true })
  watcher.signal.addEventListener('abort', discard)
  let descriptor: number | undefined
  try {
    discard()
    const opened = openSync(draft, 'wx', PRIVATE)
    descriptor = opened
    await writeAs(form, counted(partial, watcher), bytes => writeFully(opened, bytes))
    await publish(opened, draft, output)
  } catch (error) {
    throw writeFailure(error, output)
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
    discard()
  }
  partial.remove()
}

async function* counted(partial: PartialFile, watcher: Watcher): AsyncGenerator<Uint8Array> {
  const total = partial.records
  let done = 0
  for await (const lines of partial.lines()) {
    yield lines
    for (let at = lines.indexOf(0x0a); at >= 0; at = lines.indexOf(0x0a, at + 1)) done++
    watcher.onProgress({ phase: 'writing', done, total })
  }
}

/** Of what makes two runs one. The format is not in it: what is kept is the same for all of them. */
function digestOf({ service, query }: PullJob): string {
  const agreed = [1, service.baseUrl, service.clientId, queryString(query)]
  return sha256(JSON.stringify(agreed)).toString('base64')
}
