import { pipeline } from 'node:stream'
import { createGzip, createZstdCompress } from 'node:zlib'
import { stringify } from 'csv-stringify/sync'
import { ByteWriter, parquetWriteRows, type SchemaElement } from 'hyparquet-writer'
import type { Write } from '../files.ts'
import { type FieldKind, PART_FIELDS, RECORD_FIELDS, readRecords } from './record.ts'

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

/** A row for each part, after the fields of its record; a record without parts has one row. Null is empty. */
async function* csv(lines: Lines): AsyncGenerator<Uint8Array> {
  const [names, partNames] = [Object.keys(RECORD_FIELDS), Object.keys(PART_FIELDS)]
  yield Buffer.from(stringify([[...names, ...partNames.map(name => `part_${name}`)]]))
  for await (const chunk of lines) {
    const rows = readRecords(chunk).flatMap(record => {
      const cells = names.map(name => record[name])
      const parts: Record<string, unknown>[] = record.results.length > 0 ? record.results : [{}]
      return parts.map(part => [...cells, ...partNames.map(name => part[name])])
    })
    yield Buffer.from(stringify(rows))
  }
}

/** Writes a row for each record. Its parts are a list of structures, as in JSON. Ids have 64 bits, days are dates. */
async function writeParquet(lines: Lines, write: Write): Promise<void> {
  const writer = Object.assign(new ByteWriter(), {
    async flush() {
      await write(writer.getBytes().slice())
      writer.index = 0
    },
    finish: () => writer.flush(),
  })
  await parquetWriteRows({
    writer,
    rows: typedRecords(lines),
    columns: [...Object.keys(RECORD_FIELDS), 'results'].map(name => ({ name })),
    schema: SCHEMA,
    // These records are in memory at once. A larger group would compress slightly better.
    rowGroupSize: 10_000,
    // Current readers support ZSTD. Bun's is ten times as fast as the library's Snappy.
    codec: 'ZSTD',
    compressors: { ZSTD: bytes => Bun.zstdCompressSync(bytes) },
    createdBy: 'axport',
  })
}

async function* typedRecords(lines: Lines): AsyncGenerator<Record<string, unknown>> {
  for await (const chunk of lines)
    for (const { results, ...fields } of readRecords(chunk))
      yield { ...typed(RECORD_FIELDS, fields), results: results.map(part => typed(PART_FIELDS, part)) }
}

function typed(fields: Record<string, FieldKind>, values: Record<string, unknown>): Record<string, unknown> {
  const row: Record<string, unknown> = {}
  for (const name in fields) {
    const value = values[name]
    if (fields[name] === 'id') row[name] = BigInt(value as number)
    // In days, of 86,400,000 ms, since 1970.
    else row[name] = fields[name] === 'day' ? Date.parse(value as string) / 86_400_000 : value
  }
  return row
}

const TEXT: Partial<SchemaElement> = {
  type: 'BYTE_ARRAY',
  converted_type: 'UTF8',
  logical_type: { type: 'STRING' },
}

const TYPES: Record<FieldKind, Partial<SchemaElement>> = {
  id: { type: 'INT64' },
  text: TEXT,
  'text or null': TEXT,
  day: { type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } },
}

/** A column is declared as never null, where the contract says so. */
const columns = (fields: Record<string, FieldKind>): SchemaElement[] =>
  Object.entries(fields).map(([name, kind]) => ({
    name,
    repetition_type: kind === 'text or null' ? 'OPTIONAL' : 'REQUIRED',
    ...TYPES[kind],
  }))

const SCHEMA: SchemaElement[] = [
  { name: 'assessments', num_children: Object.keys(RECORD_FIELDS).length + 1 },
  ...columns(RECORD_FIELDS),
  {
    name: 'results',
    repetition_type: 'REQUIRED',
    num_children: 1,
    converted_type: 'LIST',
    logical_type: { type: 'LIST' },
  },
  { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
  { name: 'element', repetition_type: 'REQUIRED', num_children: Object.keys(PART_FIELDS).length },
  ...columns(PART_FIELDS),
]
