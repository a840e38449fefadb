import { Failure } from '../errors.ts'
import type { Disclosing } from '../tables/disclosing.ts'

/** The format of backups. A format that an older axport cannot restore gets the next number. */
export const FORMAT = 1

/** The first line of a backup. */
export interface Header {
  axport_backup: number
  /** The name of the newest migration. */
  schema: string
  /** The version of the axport that made it. */
  version: string
  /** The time of its snapshot, by the clock of the database, in UTC. */
  made_at: string
  time_zone: string
  last_import_at: string | null
  /** Whether disclosures are recorded, and for how long; not in a backup of an older schema. */
  disclosures?: Disclosing
  /** The number of rows that follow, by table. */
  rows: Record<string, number>
}

/** Each further line: some rows of a table, as array literals of Postgres, one for each column. */
export interface Batch {
  table: string
  rows: number
  columns: Record<string, string>
}

/**
 * The end mark: a skippable frame of zstd (RFC 8878, 3.1.2) with the SHA-256 of the bytes before it. Decoders skip it, so
 * `zstd -dc` prints the lines.
 */
export function endMark(sha256: string): Buffer {
  const text = Buffer.from(`axport backup sha256 ${sha256}\n`)
  const head = Buffer.alloc(8)
  head.writeUInt32LE(SKIPPABLE, 0)
  head.writeUInt32LE(text.length, 4)
  return Buffer.concat([head, text])
}

const SKIPPABLE = 0x184d2a5a

/** The first bytes of every zstd file. */
export const MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])

/** The error for a backup that is damaged. */
export const damaged = (path: string) =>
  new Failure(`${path} is damaged or cut short: fetch it again, or take another backup`)
