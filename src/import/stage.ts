import type { TransactionSql } from 'postgres'
import { FIELDS } from './fields.ts'
import { BadLine, type ImportSource, type Row, type SourceRow, TABLE_OF, type Type } from './source-rows.ts'

const kindsOf = (type: Type) =>
  Object.fromEntries(Object.entries(FIELDS[type]).map(([name, { kind }]) => [name, kind]))

/** The columns of the temporary tables import_organizations …, in which rows wait because references may point forward. */
const COLUMNS: Record<string, Record<string, string>> = {
  organizations: kindsOf('organization'),
  products: kindsOf('product'),
  users: kindsOf('user'),
  assessments: kindsOf('assessment'),
  // `apart`: arrived in a row of its own, and not with its assessment.
  assessment_parts: { ...kindsOf('part'), apart: 'boolean' },
  // Rows that delete a part.
  removed_parts: { assessment_id: 'bigint' },
  // Bad rows: the assessment that cannot be loaded without the row, and the educator if the row could be read.
  // `step` counts from 1 where other rows made the row bad: one of a higher step may be a consequence of a lower one.
  rejects: { type: 'text', assessment_id: 'bigint', user_id: 'bigint', reason: 'text', step: 'integer' },
  // The original texts, as JSON strings: they may hold characters that a text of Postgres cannot.
  texts: { text: 'text' },
}

/** The names of the columns of each table but `file` and `line`. */
const NAMES = Object.fromEntries(
  Object.entries(COLUMNS).map(([table, columns]) => [table, ['id', 'deleted', ...Object.keys(columns)]]),
)

/** `file` and `line` are those of SourceRow. */
async function createStaging(sql: TransactionSql): Promise<void> {
  for (const [table, kinds] of Object.entries(COLUMNS)) {
    const columns = Object.entries({
      file: 'integer',
      line: 'bigint',
      id: 'bigint',
      deleted: 'boolean',
      ...kinds,
    })
    const list = columns.map(column => column.join(' ')).join(', ')
    await sql.unsafe(`create temporary table import_${table} (${list}) on commit drop`)
  }
}

/**
 * Rows that are staged at a time, by a COPY for each table, while the next ones are read. With fewer, a load waits longer for
 * Postgres; with more, it takes more memory.
 */
const BATCH = 20_000

/** Lines after which reading pauses. */
const PAUSE_AFTER = 500

/** What is staged. */
export interface Staged {
  lines: number
  /** Types of which an id may have come twice; ids that only rise cannot. */
  unordered: Set<Type>
}

/** Stages all rows of a source, with `keepTexts` also their texts. `onRead` takes the lines and bytes so far. */
export async function stageRows(
  sql: TransactionSql,
  source: ImportSource,
  keepTexts: boolean,
  onRead: (lines: number, bytes: number) => void,
): Promise<Staged> {
  const staging = new Staging(sql, keepTexts)
  let bytes = 0
  let pausedAt = 0
  onRead(0, bytes)
  for await (const rows of source.read(size => (bytes += size))) {
    if (staging.lines === 0 && rows.length > 0) await createStaging(sql)
    for (const sourceRow of rows) staging.add(sourceRow)
    if (staging.rows >= BATCH) await staging.write()
    onRead(staging.lines, bytes)
    // A COPY takes several turns of the event loop, and reading a file leaves it few. Not setImmediate(): in Bun it may
    // never return while nothing else happens.
    if (staging.lines < pausedAt + PAUSE_AFTER) continue
    pausedAt = staging.lines
    await Bun.sleep(0)
  }
  await staging.flush()
  return staging
}

/** Rows on their way into the staging tables. Postgres takes one batch while this process reads the next. */
class Staging implements Staged {
  lines = 0
  rows = 0
  readonly unordered = new Set<Type>()
  readonly #highest = new Map<Type, number>()
  /** The rows that wait, by table, as lines of CSV. */
  #texts: Record<string, string[]> = {}
  #written: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly sql: TransactionSql,
    private readonly keepTexts: boolean,
  ) {}

  add(sourceRow: SourceRow): void {
    const { read, text } = sourceRow
    this.lines += 1
    if (read instanceof BadLine) {
      const { subject, assessmentId: assessment_id, userId: user_id, message: reason } = read
      if (subject) this.#checkOrder(subject.type, subject.id)
      this.#put('rejects', sourceRow, { ...subject, assessment_id, user_id, reason })
    } else {
      const { type, row, parts } = read
      this.#checkOrder(type, row.id as number)
      this.#put(TABLE_OF[type], sourceRow, row)
      for (const part of parts) {
        this.#checkOrder('part', part.id as number)
        part.assessment_id = row.id
        this.#put(TABLE_OF.part, sourceRow, part)
      }
    }
    if (this.keepTexts && text !== undefined) this.#put('texts', sourceRow, { text: JSON.stringify(text) })
  }

  #put(table: string, { file, line }: SourceRow, row: Row): void {
    const names = NAMES[table] as string[]
    const cells: unknown[] = [file, line]
    for (const name of names) cells.push(row[name])
    const rows = this.#texts[table] ?? []
    rows.push(csvOf(cells))
    this.#texts[table] = rows
    this.rows += 1
  }

  #checkOrder(type: Type, id: number): void {
    if (id <= (this.#highest.get(type) ?? 0)) this.unordered.add(type)
    this.#highest.set(type, id)
  }

  /** Sends the rows, and waits until they are written. */
  async flush(): Promise<void> {
    await this.write()
    await this.#written
  }

  /** Sends the rows once the previous ones are written. */
  async write(): Promise<void> {
    const texts = this.#texts
    this.#texts = {}
    this.rows = 0
    await this.#written
    this.#written = this.#copy(texts)
    // The next await gets the error; until then it is not unhandled.
    this.#written.catch(() => {})
  }

  async #copy(texts: Record<string, string[]>): Promise<void> {
    for (const [table, rows] of Object.entries(texts)) {
      const stream = await this.sql
        .unsafe(`copy import_${table} (file, line, ${NAMES[table]}) from stdin (${FORMAT})`)
        .writable()
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      stream
        .on('error', reject)
        .on('finish', resolve)
        .end(`${rows.join('\n')}\n`)
      await promise
    }
  }
}

/** CSV whose quotes and escapes are those of JSON, because JSON.stringify() is native: it takes less CPU than our own code. */
const FORMAT = `format csv, quote '"', escape e'\\\\', null 'null'`

/** JSON without the brackets, but for the escapes that CSV does not have: it takes these characters as they are. */
function csvOf(cells: unknown[]): string {
  const text = JSON.stringify(cells).slice(1, -1)
  if (!text.includes('\\')) return text
  return text.replace(ESCAPED, (found, other) => (other === undefined ? found : JSON.parse(`"${other}"`)))
}

/** What JSON escapes: a quote or backslash, or another character. */
const ESCAPED = /\\["\\]|(\\u.{4}|\\.)/g
