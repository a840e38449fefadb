import { Command, InvalidArgumentError } from 'commander'
import { Interrupted, UsageFailure } from '../errors.ts'
import { type ImportOptions, type ImportResult, importSource } from '../import/import.ts'
import type { Limit } from '../import/limit.ts'
import type { RecordSource } from '../import/record.ts'
import { RejectsFile } from '../import/rejects-file.ts'
import { openSource } from '../import/source.ts'
import { ImportProgress } from './import-progress.ts'
import { reportFailure, reportResult } from './import-report.ts'
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
    .option('--max-rejected <limit>', 'most bad lines left out: 5%, or 500 (1%, at least 10)', readLimit)
    .option('--sync', 'remove what the source does not contain')
    .option('--max-removed <limit>', 'most it may remove of a kind: 25%, or 500 (10%)', readLimit)
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
One JSON object a line, upserted by type and id, in any order. What a line leaves out stays as it
is stored, null clears, "deleted":true removes:
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
  let notes = () => [] as string[]
  let isLoaded = false
  try {
    const source = await openSource(file)
    notes = () => source.notes()
    const result = await importFrom(source, options, () => (isLoaded = true))
    await reportResult(result, notes(), options)
  } catch (error) {
    if (!(error instanceof UsageFailure || error instanceof Interrupted))
      await reportFailure(error, isLoaded, notes(), options)
    throw error
  }
}

async function importFrom(
  source: RecordSource,
  options: Options,
  onLoaded: () => void,
): Promise<ImportResult> {
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
              if (step.phase !== 'tidying') return
              onLoaded()
              // Whatever happens from here on, the rejects belong to what was loaded.
              rejects?.keep()
            },
            { ...importOptions(options, rejects), signal },
          ),
        ),
      () => (progress.isLoaded ? 'interrupted when all was loaded' : 'interrupted: nothing was loaded'),
    )
    if (result.loaded) rejects?.keep()
    return result
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

function readLimit(text: string): Limit {
  const [, number, isPercent] = /^(\d{1,15})(%?)$/.exec(text.trim()) ?? []
  if (number === undefined || (isPercent && Number(number) > 100))
    throw new InvalidArgumentError('Give a share as 25%, or a number as 500.')
  return isPercent ? { percent: Number(number) } : { count: Number(number) }
}
