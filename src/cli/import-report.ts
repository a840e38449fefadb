import { Failure } from '../errors.ts'
import type { ImportResult } from '../import/import.ts'
import { describePlace } from '../import/report.ts'
import { describeError } from './describe-error.ts'
import { print, printTable } from './output.ts'

/** How an import was called, as far as its report shows. */
interface Called {
  dryRun?: boolean
  rejects?: string
  json?: true
}

/**
 * Tells what came of an import: a table or JSON on standard output, notes and bad lines on standard error.
 * @throws Failure when nothing was loaded because of bad lines
 */
export async function reportResult(result: ImportResult, notes: string[], called: Called): Promise<void> {
  if (!result.loaded) {
    const problems = result.problems.map(problem => `${describePlace(problem)}: ${problem.reason}`)
    const listed = new Set(result.problems.map(describePlace)).size
    if (result.total > listed)
      problems.push(`… and ${result.total - listed} more (the first ${listed} are listed)`)
    throw new BadLines(reasonOf(result, called.rejects !== undefined), result, problems)
  }
  const all = [...notes]
  if (result.keptFor)
    all.push(
      `nothing but parts was removed: ${describePlace(result.keptFor)} is bad and does not say whose it is`,
    )
  tell(all.map(note => `note: ${note}`))
  await (called.json ? printJson(result, all, called) : printText(result, called))
}

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
  const { result, problems } = error instanceof BadLines ? error : { problems: [] }
  const counts = result && { lines: result.lines, bad_lines: result.total, problems: result.problems }
  if (json) await printObject({ loaded: isLoaded, error: describeError(error, 'import'), ...counts, notes })
  tell([...notes.map(note => `note: ${note}`), ...problems])
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
): string {
  if (isPartOfUnknown)
    return 'nothing was loaded: a bad row does not say of which assessment it is a part, correct it and import again'
  const howMany = `nothing was loaded: ${count(total, 'bad line')} of ${lines}`
  return isLeavingOut
    ? `${howMany}, more than may be left out; is the source as it should be? If so, allow it with --max-rejected`
    : `${howMany}, correct and import again, or load the others with --rejects FILE`
}

type Loaded = ImportResult & { loaded: true }

async function printJson(result: Loaded, notes: string[], { dryRun = false, rejects }: Called) {
  const { lines, rejected, summary } = result
  const file = rejects !== undefined && { rejects }
  await printObject({ loaded: !dryRun, dry_run: dryRun, lines, rejected, ...file, ...summary, notes })
}

async function printText(result: Loaded, { dryRun, rejects }: Called) {
  const rejected = result.rejected > 0 ? `, ${result.rejected} rejected (written to ${rejects})` : ''
  const loaded = result.lines - result.rejected
  await print(`${dryRun ? 'would have loaded' : 'loaded'} ${count(loaded, 'line')}${rejected}\n`)
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
