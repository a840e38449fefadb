import { Command, Option } from 'commander'
import { Failure, Interrupted, UsageFailure } from '../../errors.ts'
import { isDevice } from '../../pull/files.ts'
import { FORMATS, type FormatName, formatOf } from '../../pull/formats.ts'
import type { PullJob, PullResult, Watcher } from '../../pull/job.ts'
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

const FORMAT_NAMES = Object.keys(FORMATS) as FormatName[]

/** axport pull */
export function pullCommand(): Command {
  const command = new Command('pull')
    .description('Read all assessments of a service into a file: NDJSON, CSV or Parquet. Needs no database.')
    .requiredOption('--base-url <url>', 'the service, https://host', readBaseUrl)
    .requiredOption('--client-id <id>', 'the integration; its secret comes from AXPORT_CLIENT_SECRET')
    .option('--client-secret-file <file>', 'a file with the secret, instead')
    .requiredOption('--out <file>', 'what to write: .ndjson, .csv, .parquet, or - for stdout')
    .option(
      '--format <format>',
      `${FORMAT_NAMES.join(', ')}: instead of by the ending`,
      oneOf(...FORMAT_NAMES),
    )
  for (const option of filterOptions()) command.addOption(option)
  return command
    .addOption(duration('--timeout', 'the longest that one answer may take', 60, '60s'))
    .addOption(duration('--retry-for', 'how long to try again what fails', 300, '5m'))
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
The file is replaced as a whole, when all has been read. An interrupted run leaves FILE.partial
beside it, and the same command goes on from there.

Example: axport pull --base-url https://axport.example.org --client-id ID --out educators.ndjson`,
    )
    .action(runPull)
}

const duration = (name: string, help: string, seconds: number, text: string) =>
  new Option(`${name} <duration>`, help).argParser(readDuration).default(seconds, text)

async function runPull(options: Options): Promise<void> {
  const isStdout = options.out === '-'
  if (isStdout && options.json)
    throw new UsageFailure('--json and --out - would both write to standard output')
  const format = options.format ?? (isStdout ? 'ndjson' : formatOf(options.out))
  if (!format) throw new UsageFailure(`${options.out} has no ending that says the format: give --format`)
  const job: PullJob = {
    service: {
      baseUrl: options.baseUrl,
      clientId: options.clientId,
      clientSecret: readSecret(options.clientSecretFile),
    },
    patience: { timeoutMs: options.timeout * 1000, retryForMs: options.retryFor * 1000 },
    query: queryOf(options),
    format,
    out: isStdout ? toStdout : options.out,
  }
  const status = new PullStatus()
  if (isReadableOnTheWay(options.baseUrl))
    status.note('http:// lets everybody on the way read the secret and the records: use https://')
  try {
    const work = (signal: AbortSignal) => pull(job, watching(status, signal))
    const result = await interruptible(work, () => status.interrupted(isStdout || isDevice(options.out)))
    status.end()
    if (!isStdout) await report(result, options, format)
  } catch (error) {
    // Whoever reads the output has had enough of it, as head does, or has failed: not everything was taken.
    throw (error as { code?: string }).code === 'EPIPE' ? new Interrupted('') : error
  } finally {
    status.end()
  }
}

const watching = (status: PullStatus, signal: AbortSignal): Watcher => ({
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

async function report(
  { records, resumed, restarts }: PullResult,
  { out, json }: Options,
  format: FormatName,
) {
  if (json) await print(`${JSON.stringify({ records, file: out, format, resumed, restarts })}\n`)
  else await print(`wrote ${records} ${records === 1 ? 'assessment' : 'assessments'} to ${out}\n`)
}
