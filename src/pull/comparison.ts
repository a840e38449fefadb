import { createHash, type Hash } from 'node:crypto'
import { resolve } from 'node:path'
import { Failure, UsageFailure } from '../errors.ts'
import { outputPath, publish, writeDraft, writeFailure } from '../files.ts'
import { exceeds } from '../limit.ts'
import type { Asked } from './asked.ts'
import { ANEW, companionOf, findPrevious, type Previous, writeCompanion } from './companion.ts'
import { Digests } from './digests.ts'
import { compressionOf, writeAs } from './formats.ts'
import type { ChangeCounts, Comparison, PullObserver } from './job.ts'
import { linesOf } from './lines.ts'
import type { PartialFile } from './partial-file.ts'
import { readRecord, splitLines, UnexpectedJson } from './record.ts'

/** Of a small file, a share would be none. */
const LEAST_REMOVED = 10
/** Of lines that are written at once. */
const CHUNK = 64 * 1024

/** A comparison whose files were checked before the first request. */
export interface CheckedComparison extends Omit<Comparison, 'previous'> {
  previous: Previous
  output: string
  asked: Asked
}

/** @throws Failure or UsageFailure for files that cannot be compared or written */
export function checkComparison(comparison: Comparison, output: string, asked: Asked): CheckedComparison {
  const previous = findPrevious(comparison.previous, asked)
  const changes = outputPath(comparison.changes)
  const written = [output, companionOf(output), `${output}.partial`, `${output}.partial.state`, changes]
  const files = [...written, previous.path, companionOf(previous.path)].map(path => resolve(path))
  if (new Set(files).size < files.length)
    throw new UsageFailure('--out, --previous and --changes must name three different files')
  return { ...comparison, previous, changes, output, asked }
}

/** Puts the changes in place, then the companion of the output, which is about to follow. Returns how many there are. */
export async function writeChanges(
  comparison: CheckedComparison,
  partial: PartialFile,
  observer: PullObserver,
): Promise<ChangeCounts> {
  const { changes, output, asked } = comparison
  const tally: Tally = { added: 0, changed: 0, removed: 0, lines: createHash('sha256') }
  const form = { format: 'ndjson', compression: compressionOf(changes) } as const
  const lines = changeLines(comparison, partial, observer, tally)
  try {
    await writeDraft(
      changes,
      async draft => {
        await writeAs(form, lines, bytes => draft.write(bytes))
        await publish(draft.descriptor, draft.path, changes)
      },
      observer.signal,
    )
    const { lines: hash, ...counts } = tally
    await writeCompanion(output, { asked, records: partial.records, sha256: hash.digest('hex') })
    return counts
  } catch (error) {
    throw writeFailure(error, changes)
  }
}

/** What comes of a comparison beside its lines. */
interface Tally extends ChangeCounts {
  /** Of the lines of the output. */
  lines: Hash
}

/** Yields the lines of --changes, and counts them. @throws Failure if too many records are removed */
async function* changeLines(
  comparison: CheckedComparison,
  partial: PartialFile,
  { onProgress }: PullObserver,
  tally: Tally,
) {
  const { previous } = comparison
  const total = previous.records + partial.records
  const onDone = (done: number) => onProgress({ phase: 'comparing', done, total })
  using digests = await readPrevious(previous, onDone)
  const lines = partial.read('comparing', { onProgress: ({ done }) => onDone(previous.records + done) })
  for await (const chunk of lines) {
    tally.lines.update(chunk)
    let text = ''
    for (const line of splitLines(chunk)) {
      const { id } = readRecord(line)
      const kind = digests.take(id, line)
      if (kind === 'same') continue
      tally[kind]++
      text += `{"change":"${kind}","id":${id},"record":${line}}\n`
    }
    if (text !== '') yield Buffer.from(text)
  }
  tally.removed = digests.size
  limitRemovals(comparison, tally.removed)
  let text = ''
  for (const id of digests.ids()) {
    // The id alone: nobody who was erased stays in the changes.
    text += `{"change":"removed","id":${id}}\n`
    if (text.length < CHUNK) continue
    yield Buffer.from(text)
    text = ''
  }
  yield Buffer.from(text)
}

function limitRemovals({ maxRemoved, previous }: CheckedComparison, removed: number): void {
  if ('percent' in maxRemoved && removed <= LEAST_REMOVED) return
  if (!exceeds(maxRemoved, removed, previous.records)) return
  const allowed = 'count' in maxRemoved ? maxRemoved.count : `${maxRemoved.percent}%`
  throw new Failure(
    `nothing was written: ${removed} of ${previous.records} assessments would be removed, more than ${allowed}: ask the operator whether the scope has changed; to remove them once: the same command with --max-removed ${removed}`,
  )
}

/** The digests of the previous file. @throws Failure unless it has exactly what its companion says */
async function readPrevious({ path, sha256 }: Previous, onDone: (records: number) => void): Promise<Digests> {
  const digests = new Digests()
  const hash = createHash('sha256')
  try {
    for await (const chunk of linesOf(path, compressionOf(path))) {
      hash.update(chunk)
      for (const line of splitLines(chunk)) digests.add(readRecord(line).id, line)
      onDone(digests.size)
    }
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    if (!(error instanceof UnexpectedJson) && code === undefined) throw error
    throw new Failure(`${path} is damaged (${code ?? message}): ${ANEW}`)
  }
  if (hash.digest('hex') === sha256) return digests
  throw new Failure(
    `${path} is not the file that ${companionOf(path)} is of, or was changed: move both together; ${ANEW}`,
  )
}
