import { describeError } from '../database/describe-error.ts'
import { Failure } from '../errors.ts'
import { importSource, type Progress } from '../import/import.ts'
import type { Reason } from '../import/rejects.ts'
import { RejectsFile } from '../import/rejects-file.ts'
import type { LostParts } from '../import/removals.ts'
import type { ImportOptions, ImportResult } from '../import/result.ts'
import { describePlace, type ImportSource } from '../import/source-rows.ts'
import { Interruption } from '../interruption.ts'
import type { Limit } from '../limit.ts'
import { outputPath } from '../output-path.ts'
import { again } from './again.ts'
import { type Doubt, oneChange, settled, tell } from './changing.ts'
import { describeErased } from './erase.ts'
import type { Noted } from './import-every.ts'
import { counted, print, printJson, printTable } from './output.ts'
import { withCurrentSchema } from './with-database.ts'

/** The options of axport import for every source. */
export interface ImportCall {
  dryRun?: boolean
  rejects?: string
  maxRejected?: Limit
  sync?: true
  maxRemoved?: Limit
  json?: true
  /** The words after axport. */
  args: string[]
}

/** Opens the source of an import, whose reading the signal ends. */
export type OpenSource = (signal: AbortSignal) => ImportSource | Promise<ImportSource>

/** The result of an import that was loaded, or would have been but for --dry-run. */
export type Loaded = ImportResult & { loaded: true }

/** The end of an import that was loaded. `failure`: nobody knows that, or something remains to be done. */
export interface Ended {
  loaded: Loaded
  failure: Failure | undefined
}

/** What an import says of its change. */
export const IMPORT = oneChange(
  'all was loaded',
  'nothing was loaded',
  'run the same command again, which does no harm',
)

/** Nothing was loaded because of bad lines. */
export class BadLines extends Failure {
  readonly problems: string[]

  constructor(
    readonly result: ImportResult & { loaded: false },
    { rejects, args }: ImportCall,
    unit: 'line' | 'row',
  ) {
    const { problems, listed, total, reasons, lines, isPartOfUnknown } = result
    const bad = `${counted(total, `bad ${unit}`)} of ${lines}`
    super(
      isPartOfUnknown
        ? 'nothing was loaded: a bad row does not say of which assessment it is a part, correct it and import again'
        : rejects !== undefined
          ? `nothing was loaded: ${bad}, more than may be left out: check the source; to leave them out: ${again(args, `--max-rejected ${total}`)}`
          : `nothing was loaded: ${bad}, correct and import again, or load the others with --rejects FILE`,
    )
    this.problems = problems.map(problem => `${describePlace(problem)}: ${problem.reason}`)
    if (total > listed)
      this.problems.push(
        `… and ${total - listed} more (the first ${listed} are listed)`,
        `by reason: ${describeReasons(reasons)}`,
      )
  }
}

/** Reasons with the number of bad records for each: "12 × name is blank, 1 × not valid JSON". */
const describeReasons = (reasons: Reason[]): string =>
  reasons.map(({ reason, count }) => `${count} × ${reason}`).join(', ')

function describeLost({ records, first }: LostParts): string {
  const which = `${first.join(', ')}${records > first.length ? ', …' : ''}`
  return `${counted(records, 'record')} lost parts, because only their other parts were given: ${records === 1 ? 'assessment' : 'assessments'} ${which}`
}

/** One import, and what is reported of it. */
export class ImportRun {
  private source: ImportSource | undefined
  private interruption = new Interruption()
  private readonly start = performance.now()

  /** @param inputs the files that the import reads. @param noted by the rounds before */
  constructor(
    readonly call: ImportCall,
    private readonly inputs: string[],
    private readonly noted: Noted,
  ) {}

  /** Whether the data is committed; null if that is not known. */
  private get isLoaded(): boolean | null {
    return { none: false, sent: null, done: true }[this.interruption.commit]
  }

  /** Imports a source into DATABASE_URL, and writes the file of --rejects. @throws as importSource(), and BadLines */
  async load(
    open: OpenSource,
    interruption: Interruption,
    onProgress: (step: Progress) => void,
  ): Promise<Ended> {
    const { args, dryRun, rejects: path, maxRejected, sync, maxRemoved } = this.call
    this.interruption = interruption
    const output = path === undefined ? undefined : outputPath(path, this.inputs)
    const source = await open(interruption.signal)
    this.source = source
    const rejects = output === undefined || dryRun ? undefined : new RejectsFile(output)
    // The process may end before the import does.
    interruption.signal.addEventListener('abort', () => {
      if (interruption.commit === 'none') rejects?.discard()
    })
    const remains: string[] = []
    // A failure must not end an import whose data is committed.
    const keepRejects = () => rejects?.keep().catch((error: Error) => void remains.push(error.message))
    let kept: Promise<void> | undefined
    const onStep = (step: Progress) => {
      onProgress(step)
      // From here on it is the turn of this import.
      if (step.phase === 'checking') rejects?.begin()
      // From here on the rejects belong to committed data.
      if (step.phase === 'committed') kept = keepRejects()
    }
    const options: ImportOptions = {
      ...(dryRun && { dryRun }),
      ...(output !== undefined && { onReject: reject => rejects?.write(reject) }),
      ...(maxRejected && { maxRejected }),
      ...(sync && { sync: maxRemoved ?? { percent: 10 } }),
      ...(maxRemoved && { maxRemoved }),
      again: option => again(args, option),
    }
    try {
      const run = withCurrentSchema(({ sql }) => importSource(sql, source, onStep, options), interruption)
      const { result, failure } = await settled(run)
      if (!result.loaded) throw new BadLines(result, this.call, source.unit)
      // Also if nobody knows whether the others were loaded.
      await (kept ?? keepRejects())
      if (result.remains !== undefined) remains.push(result.remains)
      const rest = remains.length > 0 ? new Failure(`all was loaded, and ${remains.join('; ')}`) : undefined
      return { loaded: result, failure: failure ?? rest }
    } finally {
      rejects?.discard()
    }
  }

  /** Prints the result on standard output, notes on standard error. */
  async report(ended: Ended): Promise<void> {
    const { loaded } = ended
    const { dryRun, json } = this.call
    for (const note of this.textNotes(loaded)) process.stderr.write(`note: ${note}\n`)
    if (json) return await printJson(this.object(ended))
    if (this.isLoaded === null) return
    const lines = `${counted(loadedLines(loaded), this.source?.unit ?? 'line')}${this.leftOut(loaded)}`
    await print(`${dryRun ? 'would have loaded' : 'loaded'} ${lines}\n`)
    await printTable(
      ['', 'inserted', 'updated', 'unchanged', 'deleted'],
      Object.entries(loaded.summary).map(([table, { inserted, updated, unchanged, deleted }]) =>
        [table, inserted, updated, unchanged, deleted].map(String),
      ),
    )
    if (dryRun) await print('nothing was changed: this was a dry run\n')
  }

  /** Prints the result of one of many rounds as a line, with its notes. */
  async reportRound(ended: Ended): Promise<void> {
    const { loaded } = ended
    const time = new Date().toISOString()
    const seconds = Math.round(performance.now() - this.start) / 1000
    if (this.call.json) return await printJson({ time, seconds, ...this.object(ended) })
    if (this.isLoaded === null) return
    const counts = (['inserted', 'updated', 'unchanged', 'deleted'] as const).map(
      kind => `${Object.values(loaded.summary).reduce((sum, table) => sum + table[kind], 0)} ${kind}`,
    )
    const rows = `${counted(loadedLines(loaded), 'row')} in ${seconds} s${this.leftOut(loaded)}`
    const notes = this.noted.newOf(this.textNotes(loaded)).map(note => `; note: ${note}`)
    await print(`${time} loaded ${rows}: ${counts.join(', ')}${notes.join('')}\n`)
  }

  /** Prints notes, bad lines and JSON of a failed import. The error itself is printed as that of any command. */
  async reportFailure(error: unknown): Promise<void> {
    const notes = this.textNotes().map(note => `note: ${note}`)
    const problems = error instanceof BadLines ? error.problems : []
    for (const line of this.noted.newOf([...notes, ...problems])) process.stderr.write(`${line}\n`)
    if (this.call.json) await printJson(this.failureObject(error))
  }

  /** The notes of the source, and those on what was loaded. */
  private notes(loaded?: Loaded): string[] {
    const notes = this.source?.notes() ?? []
    if (!loaded) return notes
    const { rejected, firstRejected, unidentified, lostParts } = loaded
    const bad = unidentified && `${describePlace(unidentified)} is bad and does not say whose it is`
    if (bad && this.call.sync) notes.push(`nothing but parts was removed: ${bad}`)
    if (rejected > 0 && this.source?.feed) {
      const more = rejected > firstRejected.length ? ` and ${rejected - firstRejected.length} more` : ''
      notes.push(`left out, and read again by the next round: ${firstRejected.join(', ')}${more}`)
    }
    if (lostParts.records > 0) notes.push(describeLost(lostParts))
    return notes
  }

  /** The notes, and the reasons of rejects, which JSON has as a list. */
  private textNotes(loaded?: Loaded): string[] {
    const reasons = loaded?.reasons ?? []
    const rejected = reasons.length > 0 ? [`rejected: ${describeReasons(reasons)}`] : []
    return [...this.notes(loaded), ...rejected]
  }

  /** The object of --json for a loaded import, also if something failed after that, or nobody knows whether it is loaded. */
  private object({ loaded, failure }: Ended): object {
    const { lines, rejected, reasons, erased, lostParts, summary } = loaded
    const { dryRun = false } = this.call
    const rejects = dryRun ? undefined : this.call.rejects
    const leftOut = { rejected, reasons, erased_left_out: erased.people, lost_parts: lostParts.records }
    const counts = { lines, ...leftOut, since: this.source?.feed?.since(), rejects }
    const notes = this.notes(loaded)
    return {
      loaded: this.isLoaded,
      dry_run: dryRun,
      ...counts,
      ...summary,
      notes,
      ...this.failureFields(failure),
    }
  }

  /** The object of --json for a failed import. */
  private failureObject(error: unknown): object {
    const { result } = error instanceof BadLines ? error : {}
    const { lines, total: bad_lines, problems, reasons } = result ?? {}
    const counts = result && { lines, bad_lines, problems, reasons }
    return { loaded: this.isLoaded, ...this.failureFields(error), ...counts, notes: this.notes() }
  }

  /** Those fields of --json that say how an import failed, and whether nobody knows that. */
  private failureFields(error: unknown): { error?: string } & Partial<Doubt> {
    if (error === undefined) return {}
    const { commit } = this.interruption
    return {
      ...(commit === 'sent' && { committed: null }),
      error: describeError(tell(IMPORT, error, commit), 'import'),
    }
  }

  /** The lines that were not loaded, as the end of a sentence; "" if there are none. */
  private leftOut({ rejected, erased }: Loaded): string {
    const { rejects, dryRun } = this.call
    const written = dryRun ? '' : ` (written to ${rejects})`
    const left = rejected > 0 ? `, ${rejected} rejected${written}` : ''
    return left + (erased.people > 0 ? `, ${describeErased(erased.people)}` : '')
  }
}

/** How many lines were loaded. */
const loadedLines = ({ lines, rejected, erased }: Loaded): number => lines - rejected - erased.lines
