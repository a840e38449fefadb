import { Command, InvalidArgumentError } from 'commander'
import { Failure, UsageFailure } from '../errors.ts'
import { type ImportOptions, type ImportResult, importSource } from '../import/import.ts'
import type { Limit } from '../import/limit.ts'
import { RejectsFile } from '../import/rejects-file.ts'
import { describePlace } from '../import/report.ts'
import { openSource } from '../import/source.ts'
import { ImportProgress } from './import-progress.ts'
import { print, printTable } from './output.ts'
import { interruptible } from './signals.ts'
import { withCurrentSchema } from './with-database.ts'

interface Options {
  dryRun?: boolean
  rejects?: string
  maxRejected?: Limit
  sync?: true
  maxRemoved?: Limit
  json?: true
}

/** axport import FILE */
export function importCommand(): Command {
  return new Command('import')
    .description('Load NDJSON or CSV into the database: all of it, or nothing.')
    .argument('<file>', 'NDJSON or gzip, a folder or zip of CSV, - for stdin')
    .option('--dry-run', 'keep nothing, only say what would have changed')
    .option('--rejects <file>', 'write bad lines and why to FILE, load the others')
    .option(
      '--max-rejected <limit>',
      'most bad lines to leave out: 5%, or 500 (1%, and 10 in any case)',
      readLimit,
    )
    .option('--sync', 'remove what the source does not contain')
    .option('--max-removed <limit>', 'most it may remove of a kind: 25%, or 500 (10%)', readLimit)
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
One JSON object a line, upserted by type and id, in any order. A field that is left out stays as it is stored, null
clears it, "deleted":true removes:
  {"type":"organization","id":12,"name":"Lakeside District"}
  {"type":"assessment","id":9001,"user_id":501,"organization_id":12,"product_id":7,
   "certified_at":"2026-03-01T18:20:00Z","proctor_id":77}   (on one line; see README)

Example: axport import --dry-run export.ndjson.gz`,
    )
    .action(runImport)
}

async function runImport(file: string, options: Options): Promise<void> {
  if (options.maxRejected && options.rejects === undefined)
    throw new UsageFailure('--max-rejected belongs to --rejects')
  if (options.maxRemoved && !options.sync) throw new UsageFailure('--max-removed belongs to --sync')
  const source = await openSource(file)
  const rejects = options.rejects === undefined ? undefined : new RejectsFile(options.rejects)
  const progress = new ImportProgress()
  try {
    const result = await interruptible(
      signal =>
        withCurrentSchema(({ sql }) =>
          importSource(
            sql,
            source,
            step => {
              progress.show(step)
              // All was loaded: whatever happens from here on, the rejects belong to it.
              if (step.phase === 'tidying') rejects?.keep()
            },
            { ...importOptions(options, rejects), signal },
          ),
        ),
      () => (progress.isLoaded ? 'interrupted when all was loaded' : 'interrupted: nothing was loaded'),
    )
    progress.end()
    if (result.loaded) rejects?.keep()
    await report(result, source.notes(), options)
  } finally {
    progress.end()
    rejects?.discard()
  }
}

function importOptions(
  { dryRun, maxRejected, sync, maxRemoved }: Options,
  rejects: RejectsFile | undefined,
): ImportOptions {
  return {
    ...(dryRun && { dryRun }),
    ...(rejects && { onReject: reject => rejects.write(reject) }),
    ...(maxRejected && { maxRejected }),
    ...(sync && { sync: maxRemoved ?? { percent: 10 } }),
  }
}

async function report(
  result: ImportResult,
  notes: string[],
  { dryRun = false, rejects, json }: Options,
): Promise<void> {
  if (json) await print(`${JSON.stringify({ ...asJson(result, dryRun), notes })}\n`)
  for (const note of notes) process.stderr.write(`note: ${note}\n`)
  if (!result.loaded) {
    for (const problem of result.problems)
      process.stderr.write(`${describePlace(problem)}: ${problem.reason}\n`)
    const listed = new Set(result.problems.map(describePlace)).size
    const more = result.total - listed
    if (more > 0) process.stderr.write(`… and ${more} more (the first ${listed} are listed)\n`)
    const howMany = `${count(result.total, 'bad line')} of ${result.lines}`
    throw new Failure(
      rejects === undefined
        ? `nothing was loaded: ${howMany}, correct and import again, or load the others with --rejects FILE`
        : `nothing was loaded: ${howMany}, more than may be left out; is the source as it should be? If so, allow it with --max-rejected`,
    )
  }
  if (result.keptFor)
    process.stderr.write(
      `note: nothing was removed: ${describePlace(result.keptFor)} is bad and does not say whose it is\n`,
    )
  if (json) return
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

function asJson(result: ImportResult, dryRun: boolean): object {
  if (!result.loaded) return { loaded: false, bad_lines: result.total, problems: result.problems }
  const { lines, rejected, summary } = result
  return { loaded: !dryRun, dry_run: dryRun, lines, rejected, ...summary }
}

const count = (number: number, noun: string) => `${number} ${noun}${number === 1 ? '' : 's'}`

function readLimit(text: string): Limit {
  const [, number, isPercent] = /^(\d{1,15})(%?)$/.exec(text.trim()) ?? []
  if (number === undefined || (isPercent && Number(number) > 100))
    throw new InvalidArgumentError('Give a share as 25%, or a number as 500.')
  return isPercent ? { percent: Number(number) } : { count: Number(number) }
}
