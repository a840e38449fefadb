import { ByteWriter, parquetWriteRows, type SchemaElement } from 'hyparquet-writer'
import type { Write } from '../files.ts'
import { type FieldKind, PART_FIELDS, type PulledRecord, RECORD_FIELDS, readRecords } from './record.ts'

/** Records that are in memory at once. More would compress a little better. */
const ROW_GROUP = 10_000

const DAY_MS = 86_400_000

/** A row a record; its parts are a list of structures, as in JSON. Ids are 64 bits wide, days are dates. */
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
    rowGroupSize: ROW_GROUP,
    // Known to every reader of today, and by the engine itself ten times as fast as what the library brings.
    codec: 'ZSTD',
    compressors: { ZSTD: bytes => Bun.zstdCompressSync(bytes) },
    createdBy: 'axport',
  })
}

async function* rows(lines: AsyncIterable<Uint8Array>): AsyncGenerator<Record<string, unknown>> {
  for await (const chunk of lines) yield* readRecords(chunk).map(row)
}

function row(record: PulledRecord): Record<string, unknown> {
  const results = record.results.map(part => typed(PART_FIELDS, part))
  return { ...typed(RECORD_FIELDS, record), results }
}

function typed(fields: Record<string, FieldKind>, values: Record<string, unknown>): Record<string, unknown> {
  const row: Record<string, unknown> = {}
  for (const name in fields) {
    const value = values[name]
    if (fields[name] === 'id') row[name] = BigInt(value as number)
    // Days since 1970.
    else row[name] = fields[name] === 'day' ? Date.parse(`${value}T00:00:00Z`) / DAY_MS : value
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

/** A reader is told which columns have no null. */
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
