import { Failure } from '../errors.ts'
import type { ImportResult } from '../import/import.ts'
import { describePlace } from '../import/place.ts'
import { describeError } from './describe-error.ts'
import { print, printTable } from './output.ts'

/** How an import was called, as far as its report shows. */
export interface Called {
  dryRun?: boolean
  rejects?: string
  json?: true
  /** What its records are called. */
  unit?: 'line' | 'row' | undefined
  /** From when on it was asked for changes. */
  since?: string | undefined
}

/**
 * Tells what came of an import: a table or JSON on standard output, notes and bad lines on standard error.
 * @throws Failure when nothing was loaded because of bad lines
 */
export async function reportResult(result: ImportResult, notes: string[], called: Called): Promise<void> {
  const loaded = requireLoaded(result, called)
  const all = notesOn(loaded, notes)
  tell(all.map(note => `note: ${note}`))
  await (called.json ? printObject(outcomeOf(loaded, all, called)) : printText(loaded, called))
}

/** @throws Failure when nothing was loaded because of bad lines */
export function requireLoaded(result: ImportResult, { rejects, unit }: Called): Loaded {
  if (result.loaded) return result
  const problems = result.problems.map(problem => `${describePlace(problem)}: ${problem.reason}`)
  const listed = new Set(result.problems.map(describePlace)).size
  if (result.total > listed)
    problems.push(`… and ${result.total - listed} more (the first ${listed} are listed)`)
  throw new BadLines(reasonOf(result, rejects !== undefined, unit), result, problems)
}

/** What an operator may want to know besides the numbers. */
export function notesOn({ keptFor }: Loaded, notes: string[]): string[] {
  if (!keptFor) return notes
  const kept = `nothing but parts was removed: ${describePlace(keptFor)} is bad and does not say whose it is`
  return [...notes, kept]
}

/** What was loaded, as --json has it. */
export function outcomeOf(
  { lines, rejected, erased, summary }: Loaded,
  notes: string[],
  { dryRun = false, rejects, since }: Called,
): object {
  const more = { ...(since !== undefined && { since }), ...(rejects !== undefined && { rejects }) }
  const counts = { lines, rejected, erased_left_out: erased.people }
  return { loaded: !dryRun, dry_run: dryRun, ...counts, ...more, ...summary, notes }
}

/** Why nothing was loaded, or what failed after it, as --json has it. */
export function troubleOf(error: unknown, isLoaded: boolean, notes: string[]): object {
  const { result } = error instanceof BadLines ? error : {}
  const counts = result && { lines: result.lines, bad_lines: result.total, problems: result.problems }
  return { loaded: isLoaded, error: describeError(error, 'import'), ...counts, notes }
}

/** The bad lines that are behind a failure, in words. */
export const problemsBehind = (error: unknown): string[] => (error instanceof BadLines ? error.problems : [])

/**
 * Tells what is known besides the failure itself, which is told as that of any command.
 * @param isLoaded the data is there, and the import failed after it
 */
export async function reportFailure(
  error: unknown,
  isLoaded: boolean,
  notes: string[],
  { json }: Called,
): Promise<void> {
  if (json) await printObject(troubleOf(error, isLoaded, notes))
  tell([...notes.map(note => `note: ${note}`), ...problemsBehind(error)])
}

class BadLines extends Failure {
  constructor(
    message: string,
    readonly result: ImportResult & { loaded: false },
    readonly problems: string[],
  ) {
    super(message)
  }
}

function reasonOf(
  { total, lines, isPartOfUnknown }: ImportResult & { loaded: false },
  isLeavingOut: boolean,
  unit = 'line',
): string {
  if (isPartOfUnknown)
    return 'nothing was loaded: a bad row does not say of which assessment it is a part, correct it and import again'
  const howMany = `nothing was loaded: ${count(total, `bad ${unit}`)} of ${lines}`
  return isLeavingOut
    ? `${howMany}, more than may be left out; is the source as it should be? If so, allow it with --max-rejected`
    : `${howMany}, correct and import again, or load the others with --rejects FILE`
}

type Loaded = ImportResult & { loaded: true }

/** How many erased people a load has left out, in words: "1 erased person left out". */
export const describeErased = (people: number): string =>
  `${people} erased ${people === 1 ? 'person' : 'people'} left out`

/** What was not loaded, as the end of a line. */
export function describeLeftOut({ rejected, erased }: Loaded, { rejects }: Called): string {
  return [
    ...(rejected > 0 ? [`, ${rejected} rejected (written to ${rejects})`] : []),
    ...(erased.people > 0 ? [`, ${describeErased(erased.people)}`] : []),
  ].join('')
}

/** How many lines have come in. */
export const loadedOf = ({ lines, rejected, erased }: Loaded): number => lines - rejected - erased.lines

async function printText(result: Loaded, called: Called) {
  const { dryRun, unit = 'line' } = called
  const loaded = `${count(loadedOf(result), unit)}${describeLeftOut(result, called)}`
  await print(`${dryRun ? 'would have loaded' : 'loaded'} ${loaded}\n`)
  await printTable(
    ['', 'inserted', 'updated', 'unchanged', 'deleted'],
    Object.entries(result.summary).map(([table, counts]) => [
      table,
      ...[counts.inserted, counts.updated, counts.unchanged, counts.deleted].map(String),
    ]),
  )
  if (dryRun) await print('nothing was changed: this was a dry run\n')
}

const tell = (lines: string[]) => void process.stderr.write(lines.map(line => `${line}\n`).join(''))

const printObject = (object: object) => print(`${JSON.stringify(object)}\n`)

const count = (number: number, noun: string) => `${number} ${noun}${number === 1 ? '' : 's'}`
