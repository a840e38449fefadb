import { Command, Option } from 'commander'
import { Failure, IncompleteFailure, Interrupted, UsageFailure } from '../../errors.ts'
import { isDevice } from '../../files.ts'
import { compressionOf, FORMATS, type Form, type FormatName, formatOf } from '../../pull/formats.ts'
import type { PullJob, PullObserver, PullResult } from '../../pull/job.ts'
import { pull } from '../../pull/pull.ts'
import { oneOf, readDuration } from '../arguments.ts'
import { print } from '../output.ts'
import { interruptible } from '../signals.ts'
import { type FilterOptions, filterOptions, queryOf } from './filters.ts'
import { PullStatus } from './progress.ts'
import { isReadableOnTheWay, readBaseUrl, readSecret } from './service.ts'

interface Options extends FilterOptions {
  baseUrl: string
  clientId: string
  clientSecretFile?: string
  out: string
  format?: FormatName
  timeout: number
  retryFor: number
  json?: true
}

/** The summary of a pull is not to stand behind the records. */
const STDOUT = ['-', '/dev/stdout', '/dev/fd/1', '/proc/self/fd/1']

/** axport pull */
export function pullCommand(): Command {
  const command = new Command('pull')
    .description('Read all assessments of a service into a file: NDJSON, CSV or Parquet. Needs no database.')
    .requiredOption('--base-url <url>', 'the service, https://host', readBaseUrl)
    .requiredOption('--client-id <id>', 'the integration; its secret comes from AXPORT_CLIENT_SECRET')
    .option('--client-secret-file <file>', 'a file with the secret, instead')
    .requiredOption(
      '--out <file>',
      'what to write: .ndjson or .csv, also with .gz or .zst; .parquet; - for stdout',
    )
    .option('--format <format>', `${FORMATS.join(', ')}: instead of by the ending`, oneOf(...FORMATS))
  for (const option of filterOptions()) command.addOption(option)
  return command
    .addOption(duration('--timeout', 'the longest that one answer may take', 60, '60s'))
    .addOption(duration('--retry-for', 'how long to try again what fails', 300, '5m'))
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
The file is replaced as a whole, when all has been read. A run that fails or is interrupted leaves
what it has read in FILE.partial beside it. Exit code 75: run the same command again, and it goes on
from there. Exit code 1: mend what it says before.

Example: axport pull --base-url https://axport.example.org --client-id ID --out educators.ndjson`,
    )
    .action(runPull)
}

const duration = (name: string, help: string, seconds: number, text: string) =>
  new Option(`${name} <duration>`, help).argParser(readDuration).default(seconds, text)

async function runPull(options: Options): Promise<void> {
  const isStdout = STDOUT.includes(options.out)
  if (isStdout && options.json)
    throw new UsageFailure(`--json and --out ${options.out} would both write to standard output`)
  const form = isStdout ? { format: options.format ?? 'ndjson' } : formOf(options)
  const job: PullJob = {
    service: {
      baseUrl: options.baseUrl,
      clientId: options.clientId,
      clientSecret: readSecret(options.clientSecretFile),
      timeoutMs: options.timeout * 1000,
      retryForMs: options.retryFor * 1000,
    },
    query: queryOf(options),
    ...form,
    out: isStdout ? toStdout : options.out,
  }
  const status = new PullStatus(isStdout || isDevice(options.out))
  if (isReadableOnTheWay(options.baseUrl))
    status.note('http:// lets everybody on the way read the secret and the records: use https://')
  try {
    const work = (signal: AbortSignal) => pull(job, watching(status, signal))
    const result = await interruptible(work, () => status.interrupted())
    status.end()
    if (!isStdout) await report(result, options, form)
  } catch (error) {
    if (error instanceof Interrupted && status.kept > 0) throw new IncompleteFailure(error.message)
    // Whoever reads the output has had enough of it, as head does, or has failed: not everything was taken.
    throw (error as { code?: string }).code === 'EPIPE' ? new Interrupted('') : error
  } finally {
    status.end()
  }
}

/**
 * What the ending of the file says, or --format and the ending of a compressed file.
 * @throws UsageFailure when they do not say it, or contradict each other
 */
function formOf({ out, format = formatOf(out) }: Options): Form {
  if (!format) throw new UsageFailure(`${out} has no ending that says the format: give --format`)
  const compression = compressionOf(out)
  if (compression && format === 'parquet')
    throw new UsageFailure(`Parquet is compressed within: give ${out} without .${compression}`)
  return { format, compression }
}

const watching = (status: PullStatus, signal: AbortSignal): PullObserver => ({
  onProgress: progress => status.show(progress),
  onPause: (reason, milliseconds) => status.pause(reason, milliseconds),
  onNote: text => status.note(text),
  signal,
})

async function toStdout(bytes: Uint8Array): Promise<void> {
  try {
    await print(bytes)
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === 'EPIPE') throw error
    throw new Failure(`cannot write to standard output (${code})`)
  }
}

async function report({ records, resumed, restarts }: PullResult, { out, json }: Options, form: Form) {
  if (json) await print(`${JSON.stringify({ records, file: out, ...form, resumed, restarts })}\n`)
  else await print(`wrote ${records} ${records === 1 ? 'assessment' : 'assessments'} to ${out}\n`)
}
