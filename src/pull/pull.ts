import { fstatSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { Failure, IncompleteFailure, TransientFailure } from '../errors.ts'
import { type Draft, isDevice, outputPath, type Write, writeDraft, writeFailure } from '../files.ts'
import { askedBy } from './asked.ts'
import { checkComparison, writeChanges } from './comparison.ts'
import { writeAs } from './formats.ts'
import type { PullJob, PullObserver, PullResult } from './job.ts'
import { PartialFile } from './partial-file.ts'
import { Changed, Position, walk } from './walk.ts'

/** After so many changes, the data changes faster than it can be read. */
const MAX_STARTS = 5

/** Reads the whole list. A file is replaced as a whole. Throws IncompleteFailure when the same command can continue. */
export async function pull(job: PullJob, observer: PullObserver): Promise<PullResult> {
  const { out } = job
  if (typeof out !== 'string') return await pullIntoStream(job, out, observer)
  if (!isDevice(out)) return await pullIntoFile(job, outputPath(out), observer)
  try {
    await using file = await open(out, 'w')
    // Asynchronously: a pipe without a reader must not keep Ctrl-C from being handled.
    return await pullIntoStream(job, bytes => file.appendFile(bytes), observer)
  } catch (error) {
    throw writeFailure(error, out)
  }
}

const NONE = 'no assessment matches (--fail-if-empty): check the filters, or ask the operator about the scope'

async function pullIntoStream(job: PullJob, write: Write, observer: PullObserver): Promise<PullResult> {
  const position = new Position()
  try {
    await writeAs(job, walk(job, position, observer), write)
  } catch (error) {
    if (!(error instanceof Changed)) throw error
    throw new Failure(
      `the output is incomplete, the data changed (${error.message}): a pull into a file starts over by itself`,
    )
  }
  if (position.size === 0 && job.failIfEmpty) throw new Failure(NONE)
  return { records: position.size, resumed: 0, restarts: 0 }
}

/** Reads into a partial file of NDJSON, whatever the format: any later run can continue. Then publishes the output. */
async function pullIntoFile(job: PullJob, output: string, observer: PullObserver): Promise<PullResult> {
  // Whatever the format: the partial file is the same for all of them.
  const asked = askedBy(job)
  const comparison = job.comparison && checkComparison(job.comparison, output, asked)
  const partial = new PartialFile(output, asked)
  observer.signal.addEventListener('abort', () => partial.leave())
  try {
    const resumed = await partial.resume(observer)
    const restarts = await fill(partial, job, observer)
    if (partial.records === 0 && job.failIfEmpty) throw new Failure(`${NONE}; nothing was written`)
    const changes = comparison && (await writeChanges(comparison, partial, observer))
    if (job.format === 'ndjson' && !job.compression) await publish(partial, partial, output, observer)
    else await convert(partial, job, output, observer)
    return {
      records: partial.records,
      resumed: restarts > 0 ? 0 : resumed,
      restarts,
      ...(changes && { changes }),
    }
  } catch (thrown) {
    const error = writeFailure(thrown, output)
    const { records, position } = partial
    partial.leave()
    if (!(error instanceof Failure) || records === 0) throw error
    const kept = `${error.message}; ${records} of ${position.count} assessments are kept`
    if (error instanceof TransientFailure)
      throw new IncompleteFailure(`${kept}: run the same command again to go on`)
    throw new Failure(`${kept} for when that is mended`)
  }
}

/** Reads until the partial file is complete; returns how often it started over. */
async function fill(partial: PartialFile, job: PullJob, observer: PullObserver): Promise<number> {
  for (let restarts = 0; ; restarts++) {
    try {
      for await (const lines of walk(job, partial.position, observer)) partial.append(lines)
      return restarts
    } catch (error) {
      if (!(error instanceof Changed)) throw error
      observer.onProgress({ phase: 'pulling', done: 0, total: partial.position.count, resumed: 0 })
      partial.clear()
      const change = `the data changed (${error.message})`
      if (restarts + 1 === MAX_STARTS)
        throw new Failure(`${change} in each of ${MAX_STARTS} tries: pull when nothing is imported`)
      observer.onNote(`${change}: starting over`)
    }
  }
}

/** Writes the lines of the partial file in the format of the job, and makes that the output. */
async function convert(partial: PartialFile, job: PullJob, output: string, observer: PullObserver) {
  const write = async (draft: Draft) => {
    await writeAs(job, partial.read('writing', observer), bytes => draft.write(bytes))
    await publish(partial, draft, output, observer)
  }
  await writeDraft(output, write, observer.signal)
}

/** Makes `draft` the output. Warns before a larger file is replaced by one without records. */
async function publish(
  partial: PartialFile,
  draft: Pick<Draft, 'descriptor' | 'path'>,
  output: string,
  { onWarning }: PullObserver,
) {
  const size = statSync(output, { throwIfNoEntry: false })?.size ?? 0
  if (partial.records === 0 && size > fstatSync(draft.descriptor).size)
    onWarning(
      `no assessment matches: ${output}, which had ${size} bytes, is replaced by a file without records; --fail-if-empty keeps it`,
    )
  await partial.publish(draft)
}
