import { pipeline } from 'node:stream'
import { createGzip } from 'node:zlib'
import { stringify } from 'csv-stringify/sync'
import type { WriteBytes } from '../output-file.ts'
import { PART_FIELDS, type Pulled, RECORD_FIELDS } from './record.ts'

/** The values of --format. */
export const FORMATS = ['ndjson', 'csv'] as const

export type FormatName = (typeof FORMATS)[number]

const GZIPPED = /\.gz$/i

/** What an output looks like. */
export interface Form {
  format: FormatName
  isGzipped: boolean
}

/** Whether a file's name says that it is compressed by gzip. */
export const isGzipped = (path: string) => GZIPPED.test(path)

/** The format that a file's name says: out.csv, out.csv.gz. Undefined when the name says none. */
export function formatOf(path: string): FormatName | undefined {
  const [, ending = ''] = /\.([^./\\]+)$/.exec(path.replace(GZIPPED, '')) ?? []
  const name = ending.toLowerCase().replace(/^jsonl$/, 'ndjson')
  return FORMATS.find(format => format === name)
}

/** Writes records in a form. @returns how many @throws the failure of `pages` or of `write` */
export async function writeAs(
  { format, isGzipped }: Form,
  pages: AsyncIterable<Pulled[]>,
  write: WriteBytes,
): Promise<number> {
  let records = 0
  async function* plain() {
    if (format === 'csv') yield Buffer.from(stringify([HEADER]))
    for await (const page of pages) {
      records += page.length
      yield Buffer.from(format === 'csv' ? stringify(page.flatMap(rowsOf)) : linesOf(page))
    }
  }
  const bytes: AsyncIterable<Uint8Array> = isGzipped ? pipeline(plain(), createGzip(), () => {}) : plain()
  for await (const chunk of bytes) await write(chunk)
  return records
}

const linesOf = (page: Pulled[]) => page.map(({ line }) => `${line}\n`).join('')

const [OWN, OF_PART] = [Object.keys(RECORD_FIELDS), Object.keys(PART_FIELDS)]
const HEADER = [...OWN, ...OF_PART.map(name => `part_${name}`)]

/** A row for each part, after the fields of its record; a record without parts has one row. Null is empty. */
function rowsOf({ fields }: Pulled): unknown[][] {
  const parts = fields.results.length > 0 ? fields.results : [{} as Record<string, unknown>]
  return parts.map(part => [...OWN.map(name => fields[name]), ...OF_PART.map(name => part[name])])
}
