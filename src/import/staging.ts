import type { TransactionSql } from 'postgres'
import { FIELDS } from './fields.ts'
import { BadLine, type RecordSource, type Row, type SourceRecord, TABLE_OF, type Type } from './record.ts'

const kindsOf = (type: Type) =>
  Object.fromEntries(Object.entries(FIELDS[type]).map(([name, { kind }]) => [name, kind]))

/** The columns of the temporary tables import_organizations …, in which records wait because references may point forward. */
const COLUMNS: Record<string, Record<string, string>> = {
  organizations: kindsOf('organization'),
  products: kindsOf('product'),
  users: kindsOf('user'),
  assessments: kindsOf('assessment'),
  // `apart`: arrived in a record of its own, and not with its assessment.
  assessment_parts: { ...kindsOf('part'), apart: 'boolean' },
  // Records that delete a part.
  removed_parts: { assessment_id: 'bigint' },
  // Bad records: the assessment that cannot be loaded without the record, and the educator if the record could be read.
  // `step` counts from 1 where other records made the record bad: one of a higher step may be a consequence of a lower one.
  rejects: { type: 'text', assessment_id: 'bigint', user_id: 'bigint', reason: 'text', step: 'integer' },
  // The original texts, as JSON strings: they may hold characters that a text of Postgres cannot.
  texts: { text: 'text' },
}

/** `line` is the place of the record, see placeOf(). */
const columnsOf = (table: string) =>
  Object.entries({ line: 'bigint', id: 'bigint', deleted: 'boolean', ...COLUMNS[table] })

async function createStaging(sql: TransactionSql): Promise<void> {
  for (const table of Object.keys(COLUMNS)) {
    const columns = columnsOf(table).map(column => column.join(' '))
    await sql.unsafe(`create temporary table import_${table} (${columns.join(', ')}) on commit drop`)
  }
}

/** Rows of one round trip: its cost vanishes, and two batches take little memory. */
const BATCH = 5000

/** Stages all records of a source, with `keepTexts` also their texts. `onRead` takes the lines and bytes so far. */
export async function stageRecords(
  sql: TransactionSql,
  source: RecordSource,
  keepTexts: boolean,
  onRead: (lines: number, bytes: number) => void,
): Promise<Staged> {
  const staged = new Staged(sql, keepTexts)
  let bytes = 0
  onRead(0, bytes)
  for await (const records of source.read(size => (bytes += size))) {
    if (staged.lines === 0 && records.length > 0) await createStaging(sql)
    for (const record of records) staged.add(record)
    if (staged.rows.length >= BATCH) await staged.write()
    onRead(staged.lines, bytes)
  }
  await staged.flush()
  return staged
}

/** Rows on their way into the staging tables. Postgres takes one batch while this process reads the next. */
export class Staged {
  lines = 0
  rows: { table: string; row: Row }[] = []
  private written: Promise<unknown> = Promise.resolve()
  private readonly highest = new Map<Type, number>()
  /** Types of which an id may have come twice; ids that only rise cannot. */
  readonly unordered = new Set<Type>()

  constructor(
    private readonly sql: TransactionSql,
    private readonly keepTexts: boolean,
  ) {}

  add({ place: line, read, text }: SourceRecord): void {
    this.lines += 1
    if (read instanceof BadLine) {
      const { subject, assessmentId: assessment_id, userId: user_id, message: reason } = read
      if (subject) this.checkOrder(subject.type, subject.id)
      this.put('rejects', line, { ...subject, assessment_id, user_id, reason })
    } else {
      const { type, row, parts } = read
      if (type !== 'part') this.checkOrder(type, row.id as number)
      this.put(TABLE_OF[type], line, row)
      for (const part of parts) {
        part.assessment_id = row.id
        this.put(TABLE_OF.part, line, part)
      }
    }
    if (this.keepTexts && text !== undefined) this.put('texts', line, { text: JSON.stringify(text) })
  }

  private put(table: string, line: number, row: Row): void {
    row.line = line
    this.rows.push({ table, row })
  }

  private checkOrder(type: Type, id: number): void {
    if (id <= (this.highest.get(type) ?? 0)) this.unordered.add(type)
    this.highest.set(type, id)
  }

  /** Sends the rows, and waits until they are written. */
  async flush(): Promise<void> {
    await this.write()
    await this.written
  }

  /** Sends the rows once the previous ones are written. */
  async write(): Promise<void> {
    const tables = Map.groupBy(this.rows, ({ table }) => table)
    const statements = [...tables].map(([table, rows]) => statementOf(table, rows))
    this.rows = []
    await this.written
    this.written = Promise.all(
      statements.map(([text, parameters]) => this.sql.unsafe(text, parameters, { prepare: true })),
    )
    // The next await gets the error; until then it is not unhandled.
    this.written.catch(() => {})
  }
}

/** An array for each column takes Postgres half the time of JSON objects. As text: postgres.js would encode each value. */
function statementOf(table: string, rows: { row: Row }[]): [text: string, parameters: string[]] {
  const columns = columnsOf(table).filter(([name]) => rows.some(({ row }) => row[name] !== undefined))
  const names = columns.map(([name]) => name)
  const arrays = columns.map(([, kind], index) => `$${index + 1}::text::${kind}[]`)
  return [
    `insert into import_${table} (${names.join(', ')}) select * from unnest(${arrays.join(', ')})`,
    names.map(name => arrayOf(rows.map(({ row }) => row[name]))),
  ]
}

/**
 * The values as an array of Postgres. JSON differs from it by its brackets, and by what it escapes: Postgres takes all but
 * quotes and backslashes as it is. JSON.stringify() takes 40 % of the time of a call for each value.
 */
const arrayOf = (values: unknown[]) =>
  `{${JSON.stringify(values)
    .slice(1, -1)
    .replace(ESCAPED, (text, other) => (other === undefined ? text : JSON.parse(`"${other}"`)))}}`

/** What JSON escapes: a quote or backslash, or another character. */
const ESCAPED = /\\["\\]|(\\u.{4}|\\.)/g
