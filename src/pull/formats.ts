import type { Write } from '../files.ts'
import { COMPRESSED, type Compression, compressing } from './compress.ts'
import { writeCsv } from './csv.ts'
import { writeParquet } from './parquet.ts'

type Format = (lines: AsyncIterable<Uint8Array>, write: Write) => Promise<void>

/** By the names that --format takes. */
export const FORMATS = {
  ndjson: async (lines, write) => {
    for await (const chunk of lines) await write(chunk)
  },
  csv: writeCsv,
  parquet: writeParquet,
} satisfies Record<string, Format>

export type FormatName = keyof typeof FORMATS

/** What an output looks like. */
export interface Form {
  format: FormatName
  /** None for Parquet, which is compressed within. */
  compression?: Compression | undefined
}

/** Writes whole NDJSON lines in a form. */
export async function writeAs({ format, compression }: Form, lines: AsyncIterable<Uint8Array>, write: Write) {
  const work = (write: Write) => FORMATS[format](lines, write)
  await (compression ? compressing(compression, write, work) : work(write))
}

/** The format that a file's name says: out.csv, out.csv.gz. Undefined when the name says none. */
export function formatOf(path: string): FormatName | undefined {
  const [, ending = ''] = /\.([^./\\]+)$/.exec(path.replace(COMPRESSED, '')) ?? []
  const name = ending.toLowerCase().replace(/^jsonl$/, 'ndjson')
  return Object.hasOwn(FORMATS, name) ? (name as FormatName) : undefined
}
