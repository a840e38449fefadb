import { createReadStream, realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { Failure, UsageFailure } from '../errors.ts'
import { exceeds } from '../limit.ts'
import { OutputFile } from '../output-file.ts'
import { outputPath } from '../output-path.ts'
import type { ChangeCounts, PullComparison } from './job.ts'
import { type Pulled, readRecord, UnexpectedJson } from './record.ts'

/** Of a small file, a share would be none. */
const LEAST_REMOVED = 10

/** How errors of --previous end. */
const ANEW = 'to begin anew, with an empty copy, give --previous /dev/null'

/** The comparison with its files behind all links. @throws Failure or UsageFailure if they cannot be compared or written */
export function checkComparison(
  comparison: PullComparison,
  output: string,
  inputs: string[],
): PullComparison {
  const previous = realPath(comparison.previous)
  const changes = outputPath(comparison.changes, inputs)
  if (new Set([output, previous, changes].map(path => resolve(path))).size < 3)
    throw new UsageFailure('--out, --previous and --changes must name three different files')
  return { ...comparison, previous, changes }
}

function realPath(given: string): string {
  try {
    return realpathSync(given)
  } catch (error) {
    const { code } = error as { code?: string }
    if (code !== 'ENOENT') throw new Failure(`${given} cannot be read (${code})`)
    throw new Failure(`there is no ${given}: name the FILE of the last pull as --previous; ${ANEW}`)
  }
}

/** The differences between a pull and the file of an earlier one. They are complete when all pages have passed. */
export class ChangesFile {
  readonly counts: ChangeCounts = { added: 0, changed: 0, removed: 0 }
  readonly file: OutputFile
  /** Digests of the lines of the previous file that have not come again, by id: a million take some 200 MB. */
  readonly #previous = new Map<Pulled['id'], number | bigint>()

  constructor(private readonly comparison: PullComparison) {
    this.file = new OutputFile(comparison.changes)
  }

  /** Passes pages on, and writes what has changed. @throws Failure for a damaged file, or too many removals */
  async *of(pages: AsyncIterable<Pulled[]>): AsyncGenerator<Pulled[]> {
    await this.#readPrevious()
    const all = this.#previous.size
    for await (const page of pages) {
      this.#write(page.map(record => this.#lineOf(record)))
      yield page
    }
    this.counts.removed = this.#previous.size
    this.#limitRemovals(all)
    // The id alone: nobody who was erased stays in the changes.
    for (const id of this.#previous.keys()) this.#write([`{"change":"removed","id":${id}}\n`])
  }

  async #readPrevious(): Promise<void> {
    const { previous } = this.comparison
    try {
      for await (const line of linesOf(previous)) this.#previous.set(readRecord(line).id, Bun.hash(line))
    } catch (error) {
      const { code, message } = error as { code?: string; message: string }
      if (!(error instanceof UnexpectedJson) && code === undefined) throw error
      throw new Failure(`${previous} is no file of axport pull, or is damaged (${code ?? message}); ${ANEW}`)
    }
  }

  #lineOf({ id, line }: Pulled): string {
    const before = this.#previous.get(id)
    this.#previous.delete(id)
    if (before === Bun.hash(line)) return ''
    const change = before === undefined ? 'added' : 'changed'
    this.counts[change]++
    return `{"change":"${change}","id":${id},"record":${line}}\n`
  }

  #write(lines: string[]): void {
    this.file.write(Buffer.from(lines.join('')))
  }

  #limitRemovals(all: number): void {
    const { maxRemoved } = this.comparison
    const { removed } = this.counts
    if ('percent' in maxRemoved && removed <= LEAST_REMOVED) return
    if (!exceeds(maxRemoved, removed, all)) return
    const allowed = 'count' in maxRemoved ? maxRemoved.count : `${maxRemoved.percent}%`
    throw new Failure(
      `nothing was written: ${removed} of ${all} assessments would be removed, more than ${allowed}: ask the operator whether the scope has changed; to remove them once: the same command with --max-removed ${removed}`,
    )
  }
}

/** The lines of a file. @throws UnexpectedJson for an unfinished last one; the error of the system, or of the encoding */
async function* linesOf(path: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let rest = ''
  for await (const chunk of createReadStream(path)) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  // Throws for a character that is cut off.
  rest += decoder.decode()
  if (rest !== '') throw new UnexpectedJson('its last line has no end')
}
