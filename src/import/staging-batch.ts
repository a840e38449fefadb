import type { TransactionSql } from 'postgres'
import { BadLine, placeOf, type Row, type RowType, type SourceRecord } from './record.ts'
import { columnsOf, STAGED, type StagedType, TABLES } from './staging.ts'

/** Rows of one round trip: enough that its cost vanishes, few enough that two batches take little memory. */
const BATCH = 5000

/**
 * Rows on their way into the staging tables. One batch is on its way while the next one is read, which makes
 * the database and this process work at the same time.
 */
export class StagingBatch {
  private rows = new Map<StagedType, Row[]>()
  private size = 0
  private underWay: Promise<unknown> = Promise.resolve()
  private readonly highest = new Map<RowType, number>()
  /** Types of which an id may have come twice; ids that only ever rise cannot. */
  readonly unordered = new Set<RowType>()
  /** Types of which a record leaves a value out, or clears one. */
  readonly partial = new Set<RowType>()

  constructor(
    private readonly sql: TransactionSql,
    private readonly keepTexts: boolean,
  ) {}

  /** Adds a record that could be read, or one that could not. */
  add(record: SourceRecord): void {
    const { read } = record
    const line = placeOf(record)
    if (read instanceof BadLine) {
      const { type, id } = read.subject ?? {}
      if (type !== undefined && id !== undefined) this.watchOrder(type, id)
      this.put('reject', { line, id, type, assessment_id: read.assessmentId, reason: read.message })
    } else {
      const { type, row, parts } = read
      if (type !== 'part') {
        this.watchOrder(type, row.id as number)
        if (!row.deleted && !this.partial.has(type)) this.watchValues(type, row)
      }
      row.line = line
      this.put(type, row)
      for (const part of parts) {
        part.line = line
        part.assessment_id = row.id
        this.put('part', part)
      }
    }
    if (this.keepTexts && record.text !== undefined)
      this.put('text', { line, text: JSON.stringify(record.text) })
  }

  /** Resolves at once until the batch is full, and then when the one before has been written. */
  async flow(): Promise<void> {
    if (this.size >= BATCH) await this.write()
  }

  /** Writes what is left. */
  async finish(): Promise<void> {
    await this.write()
    await this.underWay
  }

  private put(type: StagedType, row: Row): void {
    const rows = this.rows.get(type)
    if (rows) rows.push(row)
    else this.rows.set(type, [row])
    this.size += 1
  }

  private watchOrder(type: RowType, id: number): void {
    if (id <= (this.highest.get(type) ?? 0)) this.unordered.add(type)
    this.highest.set(type, id)
  }

  private watchValues(type: RowType, row: Row): void {
    for (const column of STAGED[type].columns)
      if (row[column] === undefined || row[column] === '') this.partial.add(type)
  }

  private async write(): Promise<void> {
    const statements = [...this.rows].map(([type, rows]) => statementOf(type, rows))
    this.rows = new Map()
    this.size = 0
    await this.underWay
    this.underWay = Promise.all(
      statements.map(({ text, parameters }) => this.sql.unsafe(text, parameters, { prepare: true })),
    )
    // Whoever awaits it next gets the error; until then it is not unhandled.
    this.underWay.catch(() => {})
  }
}

/**
 * An array a column, which Postgres reads in half the time that it needs for the same rows as JSON. They are
 * passed as text, or postgres.js would take them apart and encode each value by itself.
 */
function statementOf(type: StagedType, rows: Row[]): { text: string; parameters: string[] } {
  const columns = columnsOf(type).filter(([name]) => rows.some(row => row[name] !== undefined))
  const arrays = columns.map(([, kind], index) => `$${index + 1}::text::${kind}[]`)
  return {
    text: `insert into ${TABLES[type].name} (${columns.map(([name]) => name).join(', ')})
      select * from unnest(${arrays.join(', ')})`,
    parameters: columns.map(([name]) => `{${rows.map(row => literal(row[name])).join(',')}}`),
  }
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  return typeof value === 'string' ? `"${value.replace(/[\\"]/g, '\\$&')}"` : String(value)
}
