import { Command, InvalidArgumentError } from 'commander'
import { Interrupted, UsageFailure } from '../errors.ts'
import type { ImportResult } from '../import/import.ts'
import { platformSource } from '../import/platform/source.ts'
import type { RecordSource } from '../import/record.ts'
import { openSource } from '../import/source.ts'
import type { Limit } from '../import/sync.ts'
import { readDuration } from './arguments.ts'
import { importEvery } from './import-every.ts'
import { explainImport } from './import-explain.ts'
import { ImportProgress } from './import-progress.ts'
import { reportFailure, reportResult } from './import-report.ts'
import { type ImportCall, importOnce } from './import-run.ts'
import { type FromPlatform, isFromPlatform, readFeed, readPlatform } from './platform.ts'
import { interruptible } from './signals.ts'

type Options = ImportCall & FromPlatform & { json?: true }

/** axport import FILE, axport import --from URL --queries DIR */
export function importCommand(): Command {
  return new Command('import')
    .description('Load NDJSON, CSV or the rows of queries into the database: all of it, or nothing.')
    .argument('[file]', 'NDJSON or gzip, a folder or zip of CSV, - for stdin')
    .option('--dry-run', 'keep nothing, only say what would have changed')
    .option('--rejects <file>', 'write bad lines and why to FILE, load the others')
    .option('--max-rejected <limit>', 'most bad lines left out: 5%, or 500 (1%, at least 10)', readLimit)
    .option('--sync', 'remove what the source does not contain')
    .option('--max-removed <limit>', 'most it may remove of a kind: 25%, or 500 (10%)', readLimit)
    .option('--from <url>', "read the platform's own Postgres, postgres://… (see docs/operate/feed.md)")
    .option('--from-file <file>', 'the same, with the URL in a file')
    .option('--queries <dir>', 'its queries: organizations.sql, users.sql, … with the columns of CSV')
    .option('--feed <name>', 'under which name it is remembered what was read (platform)', readFeed)
    .option('--full', 'read all of it, and not only what has changed')
    .option(
      '--overlap <duration>',
      'read again what was stamped so long before the last time (15m)',
      readDuration,
    )
    .option('--every <duration>', 'repeat until SIGTERM or Ctrl-C', readDuration)
    .option('--explain', 'only say which columns the queries have, and which they lack')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
One JSON object a line, upserted by type and id, in any order. What a line leaves out stays as it
is stored, null clears, "deleted":true removes:
  {"type":"organization","id":12,"name":"Lakeside District"}
  {"type":"assessment","id":9001,"user_id":501,"organization_id":12,"product_id":7,
   "certified_at":"2026-03-01T18:20:00Z","proctor_id":77}   (on one line; see docs/operate/data.md)

Examples: axport import --dry-run export.ndjson.gz
          axport import --from-file platform.url --queries queries --every 1m`,
    )
    .action(runImport)
}

async function runImport(file: string | undefined, options: Options): Promise<void> {
  if (options.maxRejected && options.rejects === undefined)
    throw new UsageFailure('--max-rejected belongs to --rejects')
  if (options.maxRemoved && !options.sync) throw new UsageFailure('--max-removed belongs to --sync')
  if (!isFromPlatform(file, options)) return await runOnce(() => openSource(file as string), options)
  if (options.every !== undefined && (options.dryRun || options.explain))
    throw new UsageFailure('--every goes without --dry-run and --explain')
  if (options.explain) return await explainImport(options)
  if (options.every !== undefined) return await importEvery(options.every, options)
  await runOnce(async signal => platformSource({ ...readPlatform(options), signal }), options)
}

async function runOnce(
  open: (signal: AbortSignal) => Promise<RecordSource>,
  options: Options,
): Promise<void> {
  let source: RecordSource | undefined
  let isLoaded = false
  const notes = () => source?.notes() ?? []
  try {
    const result = await watched(async (signal, progress) => {
      source = await open(signal)
      return await importOnce(source, options, signal, step => {
        progress.show(step)
        isLoaded = progress.isLoaded
      })
    })
    await reportResult(result, notes(), { ...options, unit: source?.unit, since: source?.feed?.since() })
  } catch (error) {
    if (!(error instanceof UsageFailure || error instanceof Interrupted))
      await reportFailure(error, isLoaded, notes(), options)
    throw error
  }
}

/** With its progress on standard error, until Ctrl-C. */
async function watched(
  work: (signal: AbortSignal, progress: ImportProgress) => Promise<ImportResult>,
): Promise<ImportResult> {
  const progress = new ImportProgress()
  try {
    return await interruptible(
      signal => work(signal, progress),
      () => (progress.isLoaded ? 'interrupted when all was loaded' : 'interrupted: nothing was loaded'),
    )
  } finally {
    progress.end()
  }
}

function readLimit(text: string): Limit {
  const [, number, isPercent] = /^(\d{1,15})(%?)$/.exec(text.trim()) ?? []
  if (number === undefined || (isPercent && Number(number) > 100))
    throw new InvalidArgumentError('Give a share as 25%, or a number as 500.')
  return isPercent ? { percent: Number(number) } : { count: Number(number) }
}
