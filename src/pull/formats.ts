import { pipeline } from 'node:stream'
import { createGzip, createZstdCompress } from 'node:zlib'
import { stringify } from 'csv-stringify/sync'
import type { Write } from '../files.ts'
import { writeParquet } from './parquet.ts'
import { PART_FIELDS, RECORD_FIELDS, readRecords } from './record.ts'

type Lines = AsyncIterable<Uint8Array>

/** The values of --format. */
export const FORMATS = ['ndjson', 'csv', 'parquet'] as const

export type FormatName = (typeof FORMATS)[number]

/** By the last ending of a file's name. */
const COMPRESSORS = { gz: createGzip, zst: createZstdCompress }

export type Compression = keyof typeof COMPRESSORS

const COMPRESSED = /\.(gz|zst)$/i

/** What an output looks like. */
export interface Form {
  format: FormatName
  /** None for Parquet, which compresses its columns. */
  compression?: Compression | undefined
}

/** The format that a file's name says: out.csv, out.csv.gz. Undefined when the name says none. */
export function formatOf(path: string): FormatName | undefined {
  const [, ending = ''] = /\.([^./\\]+)$/.exec(path.replace(COMPRESSED, '')) ?? []
  const name = ending.toLowerCase().replace(/^jsonl$/, 'ndjson')
  return FORMATS.find(format => format === name)
}

/** The compression that a file's name says; undefined when the name says none. */
export function compressionOf(path: string): Compression | undefined {
  return COMPRESSED.exec(path)?.[1]?.toLowerCase() as Compression | undefined
}

/** Writes whole NDJSON lines in a form. Rejects with the failure of `lines` or of `write`. */
export async function writeAs({ format, compression }: Form, lines: Lines, write: Write): Promise<void> {
  if (format === 'parquet') return await writeParquet(lines, write)
  const plain = format === 'csv' ? csv(lines) : lines
  // One compressed stream for the whole file: many readers end after the first of several.
  const bytes: Lines = compression ? pipeline(plain, COMPRESSORS[compression](), () => {}) : plain
  for await (const chunk of bytes) await write(chunk)
}

const RECORD_NAMES = Object.keys(RECORD_FIELDS)
const PART_NAMES = Object.keys(PART_FIELDS)

/**
 * A row for each part, with the fields of its record in front. A record without parts has one row, in which the cells
 * of a part are empty. Null is the empty cell.
 */
async function* csv(lines: Lines): AsyncGenerator<Uint8Array> {
  yield rows([[...RECORD_NAMES, ...PART_NAMES.map(name => `part_${name}`)]])
  for await (const chunk of lines) {
    const cells = readRecords(chunk).flatMap(record => {
      const ofRecord = RECORD_NAMES.map(name => record[name])
      const parts = record.results.length > 0 ? record.results : [{}]
      return parts.map((part: Record<string, unknown>) => [
        ...ofRecord,
        ...PART_NAMES.map(name => part[name]),
      ])
    })
    yield rows(cells)
  }
}

const rows = (cells: unknown[][]) => Buffer.from(stringify(cells))
