import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { setting } from '../config.ts'
import { UsageFailure } from '../errors.ts'
import { readTrimmed } from '../files.ts'
import { readQueries } from '../import/platform/queries.ts'
import type { PlatformOptions } from '../import/platform/source.ts'
import { isPath } from '../setting-values.ts'
import { readDuration } from './arguments.ts'

/** The options of axport import for a platform's Postgres. */
export interface FeedCall {
  fromFile?: string
  queries?: string
  feed?: string
  full?: true
  every?: number
  dryRun?: boolean
  sync?: true
  json?: true
}

/** The options of FeedCall, but for those of every import. */
export const feedOptions = () => [
  new Option('--queries <dir>', "read the platform's Postgres by users.sql, … in DIR (docs/operate/feed.md)"),
  new Option('--from-file <file>', 'file with the URL of the platform; without it, PLATFORM_URL is the URL'),
  new Option('--feed <name>', 'name that the last round is stored under (platform)').argParser(readFeedName),
  new Option('--full', 'read all rows, not only those changed since the last round'),
  new Option(
    '--every <duration>',
    'repeat, at most 1d apart, until SIGTERM or a failure other than bad rows',
  ).argParser(readDuration),
]

/** Those for a platform alone. */
const DEPENDENT = ['queries', 'fromFile', 'feed', 'full', 'every'] as const

/** A timer of the runtime runs for 24 days at most. */
const LONGEST_REST_SECONDS = 24 * 60 * 60

/** Whether to read a platform, not a file. @throws UsageFailure for options that do not go together */
export function isFromPlatform(file: string | undefined, options: FeedCall): boolean {
  const { fromFile, queries } = options
  if (file !== undefined) {
    const dependent = DEPENDENT.find(name => options[name] !== undefined)
    if (dependent)
      throw new UsageFailure(
        `--${dependent === 'fromFile' ? 'from-file' : dependent} is for a platform, and does not go with a file`,
      )
    return false
  }
  if (queries === undefined)
    throw new UsageFailure(
      fromFile === undefined
        ? 'give a file, or --queries DIR to read a platform (see axport import --help)'
        : '--from-file needs --queries DIR, the folder of the queries',
    )
  if (fromFile === undefined && setting('PLATFORM_URL') === undefined)
    throw new UsageFailure(
      '--queries needs the URL of the platform: set PLATFORM_URL, or give --from-file FILE',
    )
  if (options.every !== undefined && options.dryRun) throw new UsageFailure('--every goes without --dry-run')
  if (options.every !== undefined && options.every > LONGEST_REST_SECONDS)
    throw new UsageFailure('--every takes 1d at most: let a timer start rarer imports')
  return true
}

/** Reads the URL and the queries, which may change between rounds. @throws Failure if one of them cannot be read */
export function readPlatform(options: FeedCall): PlatformOptions {
  const { queries = '', feed = 'platform', full, sync } = options
  const url = readUrl(options)
  // --sync removes rows that were not read, so all must be read.
  return { url, queries: readQueries(queries), feed, isFull: full === true || sync === true }
}

function readUrl({ fromFile: file }: FeedCall): string {
  if (file === undefined) return setting('PLATFORM_URL') ?? ''
  // The argument may be the URL itself, with a password.
  const shown = isPath(file) ? file : 'a URL and no file'
  return readTrimmed(file, `--from-file names ${shown}, which`)
}

function readFeedName(text: string): string {
  if (!/^[A-Za-z0-9_.-]{1,63}$/.test(text))
    throw new InvalidArgumentError('Give 1 to 63 of A-Z a-z 0-9 _ . -')
  return text
}
