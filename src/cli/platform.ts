import { readFileSync } from 'node:fs'
import { InvalidArgumentError } from 'commander'
import { Failure, UsageFailure } from '../errors.ts'
import { readQueries } from '../import/platform/queries.ts'
import type { PlatformOptions } from '../import/platform/source.ts'

/** The options of axport import that say how the platform's own database is read. */
export interface FromPlatform {
  from?: string
  fromFile?: string
  queries?: string
  feed?: string
  full?: true
  overlap?: number
  every?: number
  explain?: true
  sync?: true
}

/** Those that mean nothing without --from or --from-file. */
const DEPENDENT = ['queries', 'feed', 'full', 'overlap', 'every', 'explain'] as const

/** Rows are stamped before they are committed: for so many seconds, unless told otherwise. */
const OVERLAP = 15 * 60

/**
 * Whether the platform is read, and no file.
 * @throws UsageFailure for options that do not go together
 */
export function isFromPlatform(file: string | undefined, options: FromPlatform): boolean {
  const { from, fromFile, queries } = options
  const isPlatform = from !== undefined || fromFile !== undefined
  if (isPlatform && file !== undefined) throw new UsageFailure('give a file or --from, and not both')
  if (from !== undefined && fromFile !== undefined)
    throw new UsageFailure('give --from or --from-file, and not both')
  if (!isPlatform) {
    const dependent = DEPENDENT.find(name => options[name] !== undefined)
    if (dependent) throw new UsageFailure(`--${dependent} belongs to --from or --from-file`)
    if (file === undefined)
      throw new UsageFailure('give a file, or --from URL with --queries DIR (see axport import --help)')
    return false
  }
  if (queries === undefined) throw new UsageFailure('--from needs --queries DIR, the folder of the queries')
  return true
}

/**
 * Reads the URL and the queries, which may change from round to round.
 * @throws Failure when one of them cannot be read
 */
export function readPlatform(options: FromPlatform): PlatformOptions {
  const { from, fromFile, queries = '', feed = 'platform', full, sync, overlap = OVERLAP } = options
  const url = from ?? readUrl(fromFile as string)
  // What is removed is all that is not there: so all has to be looked at.
  return { url, queries: readQueries(queries), feed, isFull: full === true || sync === true, overlap }
}

/** A value of --feed. */
export function readFeed(text: string): string {
  if (!/^[A-Za-z0-9_.-]{1,63}$/.test(text))
    throw new InvalidArgumentError('Give 1 to 63 of A-Z a-z 0-9 _ . -')
  return text
}

function readUrl(file: string): string {
  let url: string
  // Somebody may have put the URL itself here.
  const shown = /:\/\/|@/.test(file) ? 'a URL and no file' : file
  try {
    url = readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new Failure(
      `--from-file names ${shown}, which cannot be read (${(error as { code?: string }).code})`,
    )
  }
  if (url === '') throw new Failure(`--from-file names ${shown}, which is empty`)
  return url
}
