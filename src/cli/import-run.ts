import { describeError, Failure } from '../errors.ts'
import { type ImportOptions, type ImportResult, importSource, type Progress } from '../import/import.ts'
import { describePlace } from '../import/place.ts'
import type { RecordSource } from '../import/record.ts'
import { RejectsFile } from '../import/rejects-file.ts'
import type { Limit } from '../import/sync.ts'
import { given } from './arguments.ts'
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
}

/** Imports a source into DATABASE_URL; the phase "tidying" begins when it is committed. @throws as importSource() */
export async function importOnce(
  source: RecordSource,
  { dryRun, rejects: path, maxRejected, sync, maxRemoved }: ImportCall,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void,
): Promise<ImportResult> {
  const rejects = path === undefined ? undefined : new RejectsFile(path)
  // The process may end before the import does: no draft of the file may be left behind.
  signal.addEventListener('abort', () => rejects?.discard())
  const onStep = (step: Progress) => {
    onProgress(step)
    // From here on the rejects belong to committed data.
    if (step.phase === 'tidying') rejects?.keep()
  }
  const options: ImportOptions = {
    ...(dryRun && { dryRun }),
    ...(rejects && { onReject: reject => rejects.write(reject) }),
    ...(maxRejected && { maxRejected }),
    ...(sync && { sync: maxRemoved ?? { percent: 10 } }),
    signal,
  }
  try {
    const result = await withCurrentSchema(({ sql }) => importSource(sql, source, onStep, options))
    if (result.loaded) rejects?.keep()
    return result
  } finally {
    rejects?.discard()
  }
}

type Loaded = ImportResult & { loaded: true }
type NotLoaded = ImportResult & { loaded: false }

/** Nothing was loaded because of bad lines. */
export class BadLines extends Failure {
  /** The first ones, for people. */
  readonly problems: string[]

  constructor(
    readonly result: NotLoaded,
    { rejects }: ImportCall,
    unit: 'line' | 'row',
  ) {
    const { problems, total, lines, isPartOfUnknown } = result
    const bad = `${counted(total, `bad ${unit}`)} of ${lines}`
    super(
      isPartOfUnknown
        ? 'nothing was loaded: a bad row does not say of which assessment it is a part, correct it and import again'
        : rejects !== undefined
          ? `nothing was loaded: ${bad}, more than may be left out; is the source as it should be? If so, allow it with --max-rejected`
          : `nothing was loaded: ${bad}, correct and import again, or load the others with --rejects FILE`,
    )
    this.problems = problems.map(problem => `${describePlace(problem)}: ${problem.reason}`)
    const listed = new Set(problems.map(describePlace)).size
    if (total > listed) this.problems.push(`… and ${total - listed} more (the first ${listed} are listed)`)
  }
}

/** Prints the result on standard output, notes on standard error. @throws BadLines if nothing was loaded */
export async function reportResult(
  result: ImportResult,
  source: RecordSource | undefined,
  call: ImportCall,
): Promise<void> {
  const { unit = 'line' } = source ?? {}
  if (!result.loaded) throw new BadLines(result, call, unit)
  const notes = notesOn(result, source)
  printNotes(notes)
  if (call.json) return await printJson(jsonOf(result, notes, call, source?.feed?.since()))
  const lines = `${counted(loadedLines(result), unit)}${describeLeftOut(result, call)}`
  await print(`${call.dryRun ? 'would have loaded' : 'loaded'} ${lines}\n`)
  await printTable(
    ['', 'inserted', 'updated', 'unchanged', 'deleted'],
    Object.entries(result.summary).map(([table, { inserted, updated, unchanged, deleted }]) =>
      [table, inserted, updated, unchanged, deleted].map(String),
    ),
  )
  if (call.dryRun) await print('nothing was changed: this was a dry run\n')
}

/** Prints notes, bad lines and JSON of a failed import, not its error. `isLoaded`: the data was committed before it */
export async function reportFailure(
  error: unknown,
  isLoaded: boolean,
  source: RecordSource | undefined,
  { json }: ImportCall,
): Promise<void> {
  const notes = source?.notes() ?? []
  if (json) await printJson(failureJson(error, isLoaded, notes))
  printNotes(notes)
  if (error instanceof BadLines) for (const line of error.problems) process.stderr.write(`${line}\n`)
}

function printNotes(notes: string[]): void {
  for (const note of notes) process.stderr.write(`note: ${note}\n`)
}

/** The notes of the source, and one if --sync kept rows because of a bad line. */
export function notesOn({ keptFor }: Loaded, source: RecordSource | undefined): string[] {
  const notes = source?.notes() ?? []
  if (!keptFor) return notes
  return [
    ...notes,
    `nothing but parts was removed: ${describePlace(keptFor)} is bad and does not say whose it is`,
  ]
}

/** The object of --json for a loaded import. */
export function jsonOf(
  { lines, rejected, erased, summary }: Loaded,
  notes: string[],
  { dryRun = false, rejects }: ImportCall,
  since?: string,
): object {
  const counts = { lines, rejected, erased_left_out: erased.people }
  return { loaded: !dryRun, dry_run: dryRun, ...counts, ...given({ since, rejects }), ...summary, notes }
}

/** The object of --json for a failed import. */
export function failureJson(error: unknown, isLoaded: boolean, notes: string[]): object {
  const { result } = error instanceof BadLines ? error : {}
  const counts = result && { lines: result.lines, bad_lines: result.total, problems: result.problems }
  return { loaded: isLoaded, error: describeError(error, 'import'), ...counts, notes }
}

/** "1 erased person left out". */
export const describeErased = (people: number): string =>
  `${people} erased ${people === 1 ? 'person' : 'people'} left out`

/** The lines that were not loaded, as the end of a sentence; "" if there are none. */
export function describeLeftOut({ rejected, erased }: Loaded, { rejects }: ImportCall): string {
  const written = rejected > 0 ? `, ${rejected} rejected (written to ${rejects})` : ''
  return written + (erased.people > 0 ? `, ${describeErased(erased.people)}` : '')
}

/** How many lines were loaded. */
export const loadedLines = ({ lines, rejected, erased }: Loaded): number => lines - rejected - erased.lines
