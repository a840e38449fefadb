import { ByteWriter, parquetWriteRows, type SchemaElement } from 'hyparquet-writer'
import type { Write } from '../files.ts'
import { type FieldKind, PART_FIELDS, type PulledRecord, RECORD_FIELDS, readRecords } from './record.ts'

/** Writes a row for each record. Its parts are a list of structures, as in JSON. Ids have 64 bits, days are dates. */
export async function writeParquet(lines: AsyncIterable<Uint8Array>, write: Write): Promise<void> {
  const writer = Object.assign(new ByteWriter(), {
    async flush() {
      await write(writer.getBytes().slice())
      writer.index = 0
    },
    finish: () => writer.flush(),
  })
  await parquetWriteRows({
    writer,
    rows: rows(lines),
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

async function* rows(lines: AsyncIterable<Uint8Array>): AsyncGenerator<Record<string, unknown>> {
  for await (const chunk of lines) yield* readRecords(chunk).map(row)
}

const row = ({ results, ...fields }: PulledRecord) => ({
  ...typed(RECORD_FIELDS, fields),
  results: results.map(part => typed(PART_FIELDS, part)),
})

function typed(fields: Record<string, FieldKind>, values: Record<string, unknown>): Record<string, unknown> {
  const row: Record<string, unknown> = {}
  for (const name in fields) {
    const value = values[name]
    if (fields[name] === 'id') row[name] = BigInt(value as number)
    // In days, of 86,400,000 ms, since 1970.
    else row[name] = fields[name] === 'day' ? Date.parse(`${value}T00:00:00Z`) / 86_400_000 : value
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
