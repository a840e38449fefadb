import { readFileSync } from 'node:fs'
import { Command, InvalidArgumentError, Option } from 'commander'
import { setting } from '../config.ts'
import { Failure, IncompleteFailure, Interrupted, UsageFailure } from '../errors.ts'
import { isDevice } from '../files.ts'
import { isLoopback } from '../pull/client.ts'
import { compressionOf, FORMATS, type Form, type FormatName, formatOf } from '../pull/formats.ts'
import type { PullJob, PullProgress } from '../pull/job.ts'
import { pull } from '../pull/pull.ts'
import { oneOf, readDuration } from './arguments.ts'
import { counted, print, printJson } from './output.ts'
import { interruptible } from './process.ts'
import { StatusLine } from './progress.ts'
import { type FilterOptions, filterOptions, queryOf } from './pull-filters.ts'

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

/** axport pull */
export function pullCommand(): Command {
  const command = new Command('pull')
    .description('Read all assessments of a service into a file: NDJSON, CSV or Parquet. Needs no database.')
    .requiredOption('--base-url <url>', 'the service, https://host', readBaseUrl)
    .requiredOption('--client-id <id>', 'the integration; its secret comes from AXPORT_CLIENT_SECRET')
    .option('--client-secret-file <file>', 'read the secret from a file instead')
    .requiredOption('--out <file>', '.ndjson or .csv, also with .gz or .zst; .parquet; - for standard output')
    .option('--format <format>', `${FORMATS.join(', ')} (by the ending)`, oneOf(...FORMATS))
  for (const option of filterOptions()) command.addOption(option)
  return command
    .addOption(duration('--timeout', 'longest time for one answer', 60, '60s'))
    .addOption(duration('--retry-for', 'how long to repeat a failing request', 300, '5m'))
    .option('--json', 'print a JSON object')
    .addHelpText(
      'after',
      `
The file is replaced when all records are read. A run that fails or is interrupted keeps the records
that it read in FILE.partial. Exit code 75: run the same command again, and it continues from there.
Exit code 1: correct what the error says, then run it again.

Example: axport pull --base-url https://axport.example.org --client-id ID --out educators.ndjson`,
    )
    .action(runPull)
}

const duration = (name: string, help: string, seconds: number, text: string) =>
  new Option(`${name} <duration>`, help).argParser(readDuration).default(seconds, text)

/** The service without a slash at its end: paths of the API are appended. */
function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol))
    throw new InvalidArgumentError('Give it as https://host or http://host.')
  if (url.username || url.password || url.search || url.hash)
    throw new InvalidArgumentError('Give scheme, host and path alone.')
  return url.href.replace(/\/+$/, '')
}

/**
 * The secret in the file, or in AXPORT_CLIENT_SECRET. Not an argument: other users of the machine can see those.
 * @throws Failure if there is none
 */
function readSecret(file: string | undefined): string {
  if (file === undefined) {
    const secret = setting('AXPORT_CLIENT_SECRET')
    if (secret) return secret
    throw new Failure(
      'there is no secret: set AXPORT_CLIENT_SECRET, or name its file with --client-secret-file',
    )
  }
  let secret: string
  try {
    secret = readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new Failure(`cannot read the secret from ${file} (${(error as { code?: string }).code})`)
  }
  if (secret === '') throw new Failure(`${file} is empty: it has to hold the secret`)
  return secret
}

async function runPull(options: Options): Promise<void> {
  const { baseUrl, clientId, out, json } = options
  const isStdout = ['-', '/dev/stdout', '/dev/fd/1', '/proc/self/fd/1'].includes(out)
  if (isStdout && json) throw new UsageFailure(`--json and --out ${out} would both write to standard output`)
  const form = isStdout ? { format: options.format ?? 'ndjson' } : formOf(options)
  const job: PullJob = {
    service: {
      baseUrl,
      clientId,
      clientSecret: readSecret(options.clientSecretFile),
      timeoutMs: options.timeout * 1000,
      retryForMs: options.retryFor * 1000,
    },
    query: queryOf(options),
    ...form,
    out: isStdout ? toStdout : out,
  }
  const progress = new PullStatus(isStdout || isDevice(out))
  if (new URL(baseUrl).protocol === 'http:' && !isLoopback(baseUrl))
    progress.onNote('http:// lets everybody on the way read the secret and the records: use https://')
  try {
    const { onProgress, onPause, onNote } = progress
    const { records, resumed, restarts } = await interruptible(
      signal => pull(job, { onProgress, onPause, onNote, signal }),
      () => progress.interrupted(),
    )
    progress.end()
    if (isStdout) return
    if (json) await printJson({ records, file: out, ...form, resumed, restarts })
    else await print(`wrote ${counted(records, 'assessment')} to ${out}\n`)
  } catch (error) {
    if (error instanceof Interrupted && progress.kept > 0) throw new IncompleteFailure(error.message)
    // The reader closed the pipe, as head does, or failed.
    throw (error as { code?: string }).code === 'EPIPE' ? new Interrupted('') : error
  } finally {
    progress.end()
  }
}

/**
 * The format by --format or the ending of the file, and the compression by the ending.
 * @throws UsageFailure if they do not say the format, or contradict each other
 */
function formOf({ out, format = formatOf(out) }: Options): Form {
  if (!format) throw new UsageFailure(`${out} has no ending that says the format: give --format`)
  const compression = compressionOf(out)
  if (compression && format === 'parquet')
    throw new UsageFailure(`Parquet is compressed within: give ${out} without .${compression}`)
  return { format, compression }
}

async function toStdout(bytes: Uint8Array): Promise<void> {
  try {
    await print(bytes)
  } catch (error) {
    const { code } = error as { code?: string }
    throw code === 'EPIPE' ? error : new Failure(`cannot write to standard output (${code})`)
  }
}

/** The progress of a pull on standard error. */
class PullStatus {
  private readonly line = new StatusLine()
  private last: PullProgress | undefined

  /** @param isStream whether the output is a pipe or a device, of which nothing can be kept for another run */
  constructor(private readonly isStream: boolean) {}

  readonly onProgress = (progress: PullProgress): void => {
    this.last = progress
    const skipped = progress.phase === 'pulling' ? progress.resumed : 0
    this.line.showProgress(progress.phase, progress.done, progress.total, 'assessments', { skipped })
  }

  readonly onPause = (reason: string, milliseconds: number): void =>
    this.line.show(() => `${reason}; trying again in ${Math.ceil(milliseconds / 1000)} s …`)

  readonly onNote = (text: string): void => this.line.say(`note: ${text}`)

  /** Records that the next run need not read again if this one ends now. */
  get kept(): number {
    if (this.isStream || !this.last) return 0
    return this.last.phase === 'pulling' ? this.last.done : this.last.total
  }

  /** The message for Ctrl-C: what is kept. */
  interrupted(): string {
    if (this.isStream) return 'interrupted: the output is incomplete'
    if (this.kept === 0) return 'interrupted: nothing is kept'
    const kept =
      this.last?.phase === 'resuming'
        ? 'what an earlier run has read is'
        : `${this.kept} of ${this.last?.total} assessments are`
    return `interrupted; ${kept} kept: run the same command again to go on`
  }

  end(): void {
    this.line.clear()
  }
}
