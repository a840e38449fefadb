import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { inputFiles, setting } from '../config.ts'
import { ORDERS, SORTS } from '../contract.ts'
import { Failure, Interrupted, UsageFailure } from '../errors.ts'
import { readTrimmed } from '../files.ts'
import type { Limit } from '../limit.ts'
import { isDevice } from '../output-path.ts'
import { isLoopback } from '../pull/api-client.ts'
import { FORMATS, type Form, type FormatName, formatOf, isGzipped } from '../pull/formats.ts'
import type { ChangeCounts, PullComparison, PullJob, PullQuery, PullResult } from '../pull/job.ts'
import { pull } from '../pull/pull.ts'
import { newCommand, oneOf, readDuration, readLimit } from './arguments.ts'
import { counted, isClosed, print, printJson, reportOf, StatusLine } from './output.ts'
import { interruptible } from './process.ts'
import { filterOptions } from './pull-filters.ts'

/** axport pull */
export function pullCommand() {
  const filter: PullQuery['filter'] = {}
  const command = newCommand(
    'pull',
    'Read all assessments of a service into a file: NDJSON or CSV. Needs no database.',
    `The file is replaced when all records are read. A run that fails or is interrupted leaves it as it
was.

Example: axport pull --base-url https://export.example.org --client-id ID --out educators.ndjson`,
  )
    .requiredOption('--base-url <url>', 'the service, https://host', readBaseUrl)
    .requiredOption('--client-id <id>', 'the integration; secret: AXPORT_CLIENT_SECRET')
    .option('--client-secret-file <file>', 'read the secret from a file instead')
    .requiredOption('--out <file>', '.ndjson or .csv, also with .gz; - for standard output')
    .option('--format <format>', `${FORMATS.join(', ')} (by the ending)`, oneOf(...FORMATS))
  for (const option of filterOptions(filter)) command.addOption(option)
  return command
    .option('--sort <by>', SORTS.join(', '), oneOf(...SORTS), SORTS[0])
    .option('--order <order>', ORDERS.join(', '), oneOf(...ORDERS), ORDERS[0])
    .addOption(duration('--timeout', 'longest time for one answer', 60, '60s'))
    .addOption(duration('--retry-for', 'longest time to repeat a request', 300, '5m'))
    .option('--previous <file>', 'the file of an earlier pull, for --changes')
    .option('--changes <file>', 'write the changes since: .ndjson')
    .option('--max-removed <limit>', 'most records missing since: 25% or 500 (10%)', readLimit)
    .option('--fail-if-empty', 'fail, and keep the file, when nothing matches')
    .option('--json', 'print a JSON object')
    .action(async options => {
      const { baseUrl, clientId, sort, order, out, json } = options
      const isStdout = ['-', '/dev/stdout', '/dev/fd/1', '/proc/self/fd/1'].includes(out)
      if (isStdout && json)
        throw new UsageFailure(`--json and --out ${out} would both write to standard output`)
      const form = isStdout ? { format: options.format ?? 'ndjson', isGzipped: false } : formOf(options)
      const service = {
        baseUrl,
        clientId,
        clientSecret: readSecret(options.clientSecretFile),
        timeoutMs: options.timeout * 1000,
        retryForMs: options.retryFor * 1000,
      }
      const query = { filter, sort, order }
      const comparison = comparisonOf(options, form, isStdout || isDevice(out))
      const { failIfEmpty, clientSecretFile } = options
      const inputs = [clientSecretFile ?? [], inputFiles()].flat()
      const job = { service, query, ...form, out: isStdout ? print : out, inputs, failIfEmpty, comparison }
      const { records, restarts, changes: counts } = await run(job, isStdout || isDevice(out))
      if (isStdout) return
      const changes = counts && { file: options.changes, ...counts }
      if (changes) process.stderr.write(`changes since ${options.previous}: ${describe(changes)}\n`)
      const { format } = form
      const wrote = `wrote ${counted(records, 'assessment')} to ${out}`
      const object = { records, file: out, format, restarts, ...(changes && { changes }) }
      await reportOf(wrote, json ? printJson(object) : print(`${wrote}\n`))
    })
}

/** The comparison that the options ask for. @throws UsageFailure for options that do not fit together */
function comparisonOf(
  options: ComparisonOptions,
  { format, isGzipped: isPacked }: Form,
  isStream: boolean,
): PullComparison | undefined {
  const { previous, changes, maxRemoved } = options
  if (changes === undefined || previous === undefined) {
    if (changes === undefined && previous === undefined && !maxRemoved) return undefined
    throw new UsageFailure('--previous, --changes and --max-removed belong together: give the first two')
  }
  if (isStream || isPacked || format !== 'ndjson')
    throw new UsageFailure('--changes needs a plain file of NDJSON as --out')
  if (formatOf(changes) !== 'ndjson' || isGzipped(changes) || isDevice(changes))
    throw new UsageFailure(`--changes writes a plain file of NDJSON: name it .ndjson, not ${changes}`)
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

/** Pulls with progress on standard error. */
async function run(job: PullJob, isStream: boolean): Promise<PullResult> {
  using status = new StatusLine()
  let written = isStream ? 'the output is incomplete' : 'nothing was written'
  const onChangesWritten = () => {
    written = `${job.comparison?.changes} was replaced, ${job.out} was not: run the same command again`
  }
  const onNote = (text: string) => status.say(`note: ${text}`)
  const onProgress = (done: number, total: number) =>
    status.showProgress('pulling', done, total, 'assessments')
  const onPause = (reason: string, milliseconds: number) =>
    status.show(() => `${reason}; trying again in ${Math.ceil(milliseconds / 1000)} s …`)
  if (new URL(job.service.baseUrl).protocol === 'http:' && !isLoopback(job.service.baseUrl))
    onNote('http:// lets everybody on the way read the secret and the records: use https://')
  try {
    return await interruptible(
      ({ signal }) => pull(job, { onProgress, onPause, onNote, onChangesWritten, signal }),
      () => `interrupted: ${written}`,
    )
  } catch (error) {
    if (isClosed(error)) throw new Interrupted('')
    throw error
  }
}

/** The form by --format or the ending of the file. @throws UsageFailure if neither says it */
function formOf({ out, format = formatOf(out) }: { out: string; format?: FormatName }): Form {
  const plain = out.replace(/\.(parquet|zst)$/i, '')
  if (/\.parquet$/i.test(out))
    throw new UsageFailure(
      `axport writes no Parquet: give --out ${plain}.ndjson, and then let DuckDB make it: duckdb -c "copy (from '${plain}.ndjson') to '${out}'"`,
    )
  if (/\.zst$/i.test(out))
    throw new UsageFailure(`axport does not compress by zstd: give --out ${plain} or ${plain}.gz`)
  if (!format) throw new UsageFailure(`${out} has no ending that says the format: give --format`)
  return { format, isGzipped: isGzipped(out) }
}
