import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { setting, sharedVariable } from '../config.ts'
import { ORDERS, SORTS } from '../contract.ts'
import { Failure, IncompleteFailure, Interrupted, UsageFailure } from '../errors.ts'
import { isDevice, readTrimmed } from '../files.ts'
import type { Limit } from '../limit.ts'
import { compressionOf, FORMATS, type Form, type FormatName, formatOf } from '../pull/formats.ts'
import type { ChangeCounts, Comparison, PullJob, PullProgress, PullResult, Query } from '../pull/job.ts'
import { isLoopback, proxyFor } from '../pull/proxy.ts'
import { pull } from '../pull/pull.ts'
import { newCommand, oneOf, readDuration, readLimit } from './arguments.ts'
import { counted, isClosed, print, printJson, StatusLine } from './output.ts'
import { interruptible } from './process.ts'
import { filterOptions } from './pull-filters.ts'

/** axport pull */
export function pullCommand() {
  const filter: Query['filter'] = {}
  const command = newCommand(
    'pull',
    'Read all assessments of a service into a file: NDJSON, CSV or Parquet. Needs no database.',
    `The file is replaced when all records are read. A run that fails or is interrupted keeps the records
that it read in FILE.partial. Exit code 75: run the same command again, and it continues from there.
Exit code 1: correct what the error says, then run it again.

Example: axport pull --base-url https://axport.example.org --client-id ID --out educators.ndjson`,
  )
    .requiredOption('--base-url <url>', 'the service, https://host', readBaseUrl)
    .requiredOption('--client-id <id>', 'the integration; secret: AXPORT_CLIENT_SECRET')
    .option('--client-secret-file <file>', 'read the secret from a file instead')
    .requiredOption('--out <file>', '.ndjson or .csv, also with .gz or .zst; .parquet; - for standard output')
    .option('--format <format>', `${FORMATS.join(', ')} (by the ending)`, oneOf(...FORMATS))
  for (const option of filterOptions(filter)) command.addOption(option)
  return command
    .option('--sort <by>', SORTS.join(', '), oneOf(...SORTS), SORTS[0])
    .option('--order <order>', ORDERS.join(', '), oneOf(...ORDERS), ORDERS[0])
    .addOption(duration('--timeout', 'longest time for one answer', 60, '60s'))
    .addOption(duration('--retry-for', 'longest time to repeat a request', 300, '5m'))
    .option('--previous <file>', 'the file of an earlier pull, for --changes')
    .option('--changes <file>', 'write the changes since: .ndjson[.gz|.zst]')
    .option('--max-removed <limit>', 'most records missing since: 25% or 500 (10%)', readLimit)
    .option('--fail-if-empty', 'fail, and keep the file, when nothing matches')
    .option('--json', 'print a JSON object')
    .action(async options => {
      const { baseUrl, clientId, sort, order, out, json } = options
      const isStdout = ['-', '/dev/stdout', '/dev/fd/1', '/proc/self/fd/1'].includes(out)
      if (isStdout && json)
        throw new UsageFailure(`--json and --out ${out} would both write to standard output`)
      const form = isStdout ? { format: options.format ?? 'ndjson' } : formOf(options)
      const service = {
        baseUrl,
        proxy: proxyFor(baseUrl, sharedVariable),
        clientId,
        clientSecret: readSecret(options.clientSecretFile),
        timeoutMs: options.timeout * 1000,
        retryForMs: options.retryFor * 1000,
      }
      const query = { filter, sort, order }
      const comparison = comparisonOf(options, form, isStdout || isDevice(out))
      const { failIfEmpty } = options
      const job = { service, query, ...form, out: isStdout ? print : out, failIfEmpty, comparison }
      const { records, changes: counts, ...others } = await run(job, isStdout || isDevice(out))
      if (isStdout) return
      const changes = counts && { file: options.changes, ...counts }
      if (changes) process.stderr.write(`changes since ${options.previous}: ${describe(changes)}\n`)
      if (json) await printJson({ records, file: out, ...form, ...others, ...(changes && { changes }) })
      else await print(`wrote ${counted(records, 'assessment')} to ${out}\n`)
    })
}

/** The comparison that the options ask for. @throws UsageFailure for options that do not fit together */
function comparisonOf(
  options: ComparisonOptions,
  { format }: Form,
  isStream: boolean,
): Comparison | undefined {
  const { previous, changes, maxRemoved } = options
  if (changes === undefined || previous === undefined) {
    if (changes === undefined && previous === undefined && !maxRemoved) return undefined
    throw new UsageFailure('--previous, --changes and --max-removed belong together: give the first two')
  }
  if (isStream || format !== 'ndjson') throw new UsageFailure('--changes needs a file of NDJSON as --out')
  if (formatOf(changes) !== 'ndjson' || isDevice(changes))
    throw new UsageFailure(`--changes writes a file of NDJSON: name it .ndjson, not ${changes}`)
  return { previous, changes, maxRemoved: maxRemoved ?? { percent: 10 } }
}

interface ComparisonOptions {
  previous?: string
  changes?: string
  maxRemoved?: Limit
}

const describe = ({ added, changed, removed }: ChangeCounts) =>
  `${added} added, ${changed} changed, ${removed} removed`

const duration = <const Name extends string>(name: Name, help: string, seconds: number, text: string) =>
  new Option(`${name} <duration>`, help).argParser(readDuration).default(seconds, text)

/** The service without a slash at its end: paths of the API are appended. */
function readBaseUrl(text: string): string {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash)
    throw new InvalidArgumentError('Give it as https://host/path, without user, query and fragment.')
  return url.href.replace(/\/+$/, '')
}

/** The secret in the file or in AXPORT_CLIENT_SECRET; an argument could be seen by others. @throws Failure if none */
function readSecret(file: string | undefined): string {
  if (file !== undefined) return readTrimmed(file, `--client-secret-file names ${file}, which`)
  const secret = setting('AXPORT_CLIENT_SECRET')
  if (secret) return secret
  throw new Failure('there is no secret: set AXPORT_CLIENT_SECRET, or give its file to --client-secret-file')
}

/** Pulls with progress on standard error. `isStream`: into a pipe or a device, which keep nothing for another run */
async function run(job: PullJob, isStream: boolean): Promise<PullResult> {
  using status = new StatusLine()
  const onNote = (text: string) => status.say(`note: ${text}`)
  const onWarning = (text: string) => status.say(`warning: ${text}`)
  let last: PullProgress | undefined
  const onProgress = (progress: PullProgress) => {
    const { phase, done, total } = progress
    if (phase === 'resuming' || phase === 'pulling') last = progress
    const skipped = progress.phase === 'pulling' ? progress.resumed : 0
    status.showProgress(phase, done, total, 'assessments', { skipped })
  }
  const onPause = (reason: string, milliseconds: number) =>
    status.show(() => `${reason}; trying again in ${Math.ceil(milliseconds / 1000)} s …`)
  /** Records that the next run need not read again if this one ends now. */
  const kept = () => (isStream || !last ? 0 : last.phase === 'pulling' ? last.done : last.total)
  if (new URL(job.service.baseUrl).protocol === 'http:' && !isLoopback(job.service.baseUrl))
    onNote('http:// lets everybody on the way read the secret and the records: use https://')
  try {
    return await interruptible(
      ({ signal }) => pull(job, { onProgress, onPause, onNote, onWarning, signal }),
      () => {
        if (isStream) return 'interrupted: the output is incomplete'
        if (kept() === 0) return 'interrupted: nothing is kept'
        const records = `${kept()} of ${last?.total} assessments are`
        const state = last?.phase === 'resuming' ? 'what an earlier run has read is' : records
        return `interrupted; ${state} kept: run the same command again to go on`
      },
    )
  } catch (error) {
    if (error instanceof Interrupted && kept() > 0) throw new IncompleteFailure(error.message)
    if (isClosed(error)) throw new Interrupted('')
    throw error
  }
}

/** The form by --format or the ending of the file. @throws UsageFailure if neither says it, or they contradict */
function formOf({ out, format = formatOf(out) }: { out: string; format?: FormatName }): Form {
  if (!format) throw new UsageFailure(`${out} has no ending that says the format: give --format`)
  const compression = compressionOf(out)
  if (compression && format === 'parquet')
    throw new UsageFailure(`Parquet is compressed within: give ${out} without .${compression}`)
  return { format, compression }
}
