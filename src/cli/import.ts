import { inputFiles } from '../config.ts'
import { UsageFailure } from '../errors.ts'
import type { Progress } from '../import/import.ts'
import { platformSource } from '../import/platform/source.ts'
import { openSource } from '../import/source.ts'
import { newCommand, readLimit } from './arguments.ts'
import { changing } from './changing.ts'
import { type FeedCall, feedOptions, isFromPlatform, readPlatform } from './feed.ts'
import { importEvery, Noted } from './import-every.ts'
import { BadLines, IMPORT, type ImportCall, ImportRun, type OpenSource } from './import-run.ts'
import { reportOf, StatusLine } from './output.ts'

/** axport import FILE, axport import --queries DIR. A refusal shows `args`, the words after axport, with one more option. */
export function importCommand(args: string[]) {
  const command = newCommand(
    'import',
    'Load NDJSON, CSV or the rows of queries into the database: all of it, or nothing.',
    `NDJSON has a JSON object on each line, in any order. A line inserts or updates the row of its type
and id. A field that is left out has its default value, "deleted":true removes the row:
  {"type":"organization","id":12,"name":"Lakeside District"}
  {"type":"assessment","id":9001,"user_id":501,"organization_id":12,"product_id":7,
   "certified_at":"2026-03-01T18:20:00Z","proctor_id":77}   (on one line; see docs/operate/data.md)

Examples: axport import --dry-run export.ndjson.gz
          axport import --from-file platform.url --queries queries --every 1m`,
  )
    .argument('[file]', 'NDJSON or gzip, a folder of CSV, - for standard input')
    .option('--dry-run', 'change nothing, only show what would change')
    .option('--rejects <file>', 'write bad lines to FILE, and load the others')
    .option(
      '--max-rejected <limit>',
      'most lines that --rejects leaves out: 5% or 500 (1%, at least 10)',
      readLimit,
    )
    .option('--sync', 'remove what the source does not contain')
    .option(
      '--max-removed <limit>',
      'most rows that --sync or a feed removes from a table: 25% or 500 (10%)',
      readLimit,
    )
  for (const option of feedOptions()) command.addOption(option)
  return command
    .option('--json', 'print a JSON object')
    .action((file, options) => runImport(file, { ...options, args }))
}

async function runImport(file: string | undefined, options: ImportCall & FeedCall): Promise<void> {
  if (options.maxRejected && options.rejects === undefined)
    throw new UsageFailure('--max-rejected belongs to --rejects')
  const isPlatform = isFromPlatform(file, options)
  if (options.maxRemoved && !options.sync && !isPlatform)
    throw new UsageFailure('--max-removed belongs to --sync or --queries')
  const { queries = [], fromFile = [] } = options
  const source = file === '-' ? '/dev/stdin' : (file ?? [])
  const noted = new Noted()
  const newRun = () => new ImportRun(options, [source, queries, fromFile, inputFiles()].flat(), noted)
  if (!isPlatform) return await runOnce(() => openSource(file as string), newRun(), options)
  // A round reads the URL and the queries again.
  const round = () =>
    runOnce(signal => platformSource({ ...readPlatform(options), signal }), newRun(), options)
  if (options.every === undefined) await round()
  else await importEvery(options.every, () => round().catch(goOnWithBadRows))
}

/** Bad rows stay until somebody corrects them. A new process would do no better, and print every one of them again. */
function goOnWithBadRows(error: unknown): void {
  if (!(error instanceof BadLines)) throw error
  process.stderr.write(`axport: ${error.message}\n`)
}

async function runOnce(open: OpenSource, run: ImportRun, { every }: FeedCall): Promise<void> {
  const status = new StatusLine()
  using busy = setTimeout(() => status.say('waiting for the database …'), BUSY_MS)
  const onProgress = (step: Progress) => {
    clearTimeout(busy)
    showStep(step, status)
  }
  await changing(IMPORT, async interruption => {
    const ended = await run
      .load(open, interruption, onProgress)
      .finally(() => status.clear())
      .catch(async error => {
        // The error itself is more than its report on standard output.
        if (!(error instanceof UsageFailure || interruption.isRequested))
          await run.reportFailure(error).catch(() => {})
        throw error
      })
    const done = interruption.commit === 'done' ? IMPORT.done : undefined
    await reportOf(done, every === undefined ? run.report(ended) : run.reportRound(ended)).catch(error => {
      throw ended.failure ?? error
    })
    if (ended.failure) throw ended.failure
  })
}

/** After this time without a first step, a line says for what the command waits. */
const BUSY_MS = 2000

const STEPS = {
  queueing: 'waiting for other writers to commit …',
  checking: 'checking …',
  indexing: 'building indexes …',
  analyzing: 'loaded, gathering statistics …',
}

function showStep(step: Progress, status: StatusLine): void {
  const { phase } = step
  if (phase === 'waiting') status.say('waiting for another import to finish …')
  else if (phase === 'reading') status.showProgress(phase, step.bytes, step.size, 'lines', step.lines)
  else if (phase === 'loading' || phase === 'rendering')
    status.showProgress(phase, step.done, step.total, 'assessments')
  else if (phase !== 'committed') status.show(() => STEPS[phase])
}
