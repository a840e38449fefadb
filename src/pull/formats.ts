import { writeCsv } from './csv.ts'
import type { Write } from './files.ts'
import { writeParquet } from './parquet.ts'

/** Writes whole NDJSON lines in another form. */
export type Format = (lines: AsyncIterable<Uint8Array>, write: Write) => Promise<void>

/** By the names that --format takes. */
export const FORMATS = {
  ndjson: async (lines, write) => {
    for await (const chunk of lines) await write(chunk)
  },
  csv: writeCsv,
  parquet: writeParquet,
} satisfies Record<string, Format>

export type FormatName = keyof typeof FORMATS

/** By the ending of a file's name. */
export function formatOf(path: string): FormatName | undefined {
  const [, ending = ''] = /\.([^./\\]+)$/.exec(path) ?? []
  const name = ending.toLowerCase().replace(/^jsonl$/, 'ndjson')
  return Object.hasOwn(FORMATS, name) ? (name as FormatName) : undefined
}
