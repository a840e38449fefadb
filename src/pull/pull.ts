import { statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { Failure } from '../errors.ts'
import { OutputFile, type WriteBytes } from '../output-file.ts'
import { isDevice, outputPath, writeFailure } from '../output-path.ts'
import { ApiClient } from './api-client.ts'
import { ChangesFile, checkComparison } from './changes.ts'
import { writeAs } from './formats.ts'
import type { PullJob, PullObserver, PullResult } from './job.ts'
import { Changed, walk } from './walk.ts'

/** After so many changes, the data changes faster than it can be read. */
const MAX_STARTS = 5

const NONE = 'no assessment matches (--fail-if-empty): check the filters, or ask the operator about the scope'

/** Reads the whole list. A file is replaced when all of it was read; until then, and after an error, it stays. */
export async function pull(job: PullJob, observer: PullObserver): Promise<PullResult> {
  const { out } = job
  if (typeof out !== 'string') return await pullIntoStream(job, out, observer)
  if (!isDevice(out)) return await pullIntoFile(job, outputPath(out, job.inputs), observer)
  try {
    await using file = await open(out, 'w')
    // Asynchronously: a pipe without a reader must not keep Ctrl-C from being handled.
    return await pullIntoStream(job, bytes => file.appendFile(bytes), observer)
  } catch (error) {
    throw writeFailure(error, out)
  }
}

async function pullIntoStream(job: PullJob, write: WriteBytes, observer: PullObserver): Promise<PullResult> {
  try {
    const pages = walk(new ApiClient(job.service, observer), job.query, observer)
    const records = await writeAs(job, pages, write)
    if (records === 0 && job.failIfEmpty) throw new Failure(NONE)
    return { records, restarts: 0 }
  } catch (error) {
    if (!(error instanceof Changed)) throw error
    throw new Failure(
      `the output is incomplete, the data changed (${error.message}): a pull into a file starts over by itself`,
    )
  }
}

/** Starts over when the data changes. */
async function pullIntoFile(job: PullJob, output: string, observer: PullObserver): Promise<PullResult> {
  const comparison = job.comparison && checkComparison(job.comparison, output, job.inputs)
  const client = new ApiClient(job.service, observer)
  for (let restarts = 0; ; restarts++) {
    try {
      return { ...(await readInto(output, { ...job, comparison }, client, observer)), restarts }
    } catch (error) {
      if (!(error instanceof Changed)) throw error
      const change = `the data changed (${error.message})`
      if (restarts + 1 === MAX_STARTS)
        throw new Failure(`${change} in each of ${MAX_STARTS} tries: pull when nothing is imported`)
      observer.onNote(`${change}: starting over`)
    }
  }
}

/** Reads the list once, and then puts the changes in place, and then the output. @throws Changed */
async function readInto(
  output: string,
  { comparison, ...job }: PullJob,
  client: ApiClient,
  observer: PullObserver,
): Promise<Pick<PullResult, 'records' | 'changes'>> {
  using files = new DisposableStack()
  observer.signal.addEventListener('abort', () => files.dispose(), { once: true })
  const file = files.use(new OutputFile(output))
  const changes = comparison && new ChangesFile(comparison)
  if (changes) files.use(changes.file)

  const pages = walk(client, job.query, observer)
  const records = await writeAs(job, changes?.of(pages) ?? pages, bytes => file.write(bytes))
  if (records === 0 && job.failIfEmpty) throw new Failure(`${NONE}; nothing was written`)
  if (comparison && changes) {
    await changes.file.publish()
    observer.onChangesWritten()
  }
  if (records === 0) warnOfLoss(file, output, observer)
  try {
    await file.publish()
  } catch (error) {
    if (!comparison) throw error
    const { message } = error as Error
    throw new Failure(`${message}; ${comparison.changes} was replaced: run the same command again`)
  }
  return { records, ...(changes && { changes: changes.counts }) }
}

/** Says so before a larger file is replaced by one without records. */
function warnOfLoss(file: OutputFile, output: string, { onNote }: PullObserver): void {
  const size = statSync(output, { throwIfNoEntry: false })?.size ?? 0
  if (size > file.size)
    onNote(
      `no assessment matches: ${output}, which had ${size} bytes, is replaced by a file without records; --fail-if-empty keeps it`,
    )
}
