import type { Sql, TransactionSql } from 'postgres'
import { applyStaging } from './apply.ts'
import { findProblems, type Problem } from './checks.ts'
import { type Line, MAX_LINE, readLines, type Source } from './lines.ts'
import { BadLine, readLine } from './rows.ts'
import { createStaging, StagingBatch, settleStaging } from './staging.ts'

/** Bad lines that are described; the others are counted. */
export const MAX_DESCRIBED = 100

/** How far an import is. `total` is unknown for the bytes of standard input. */
export type Progress =
  | { phase: 'reading'; bytes: number; size: number | undefined; lines: number }
  | { phase: 'checking' }
  | { phase: 'loading'; done: number; total: number }

/** What came of it: lines read when all was loaded, or the bad lines when nothing was. */
export type ImportResult =
  | { loaded: true; lines: number }
  | { loaded: false; problems: Problem[]; total: number }

/** Any number will do, so long as no other program takes the same one. */
const LOCK = 7_241_905_834

/**
 * Loads a source into the source tables: all of it, or nothing. One transaction, so that readers see the
 * state before or the state after. Another import waits for this one.
 * @throws Failure for a source that can not be read
 */
export async function importSource(
  db: Sql,
  source: Source,
  onProgress: (progress: Progress) => void,
): Promise<ImportResult> {
  let result: ImportResult | undefined
  try {
    await db.begin(async sql => {
      await sql`select pg_advisory_xact_lock(${LOCK})`
      // A day without a time means its start in the platform's time zone (design, import format).
      await sql`select set_config('TimeZone', time_zone, true) from export_state`
      result = await importInto(sql, source, onProgress)
      if (!result.loaded) throw new NothingLoaded()
    })
  } catch (error) {
    if (!(error instanceof NothingLoaded)) throw error
  }
  if (result?.loaded) await refreshStatistics(db)
  return result as ImportResult
}

/** Leaves the transaction without a trace. */
class NothingLoaded extends Error {}

async function importInto(
  sql: TransactionSql,
  source: Source,
  onProgress: (progress: Progress) => void,
): Promise<ImportResult> {
  await createStaging(sql)
  const staged = await stage(sql, source, onProgress)
  onProgress({ phase: 'checking' })
  await settleStaging(sql)
  const found = await findProblems(sql, MAX_DESCRIBED)
  const total = staged.total + found.total
  if (total > 0) {
    const problems = [...staged.problems, ...found.problems].sort((a, b) => a.line - b.line)
    return { loaded: false, problems: problems.slice(0, MAX_DESCRIBED), total }
  }
  await applyStaging(sql, (done, total) => onProgress({ phase: 'loading', done, total }))
  return { loaded: true, lines: staged.lines }
}

async function stage(sql: TransactionSql, source: Source, onProgress: (progress: Progress) => void) {
  const batch = new StagingBatch(sql)
  const problems: Problem[] = []
  let total = 0
  let lines = 0
  let bytes = 0
  const report = (line: number, reason: string) => {
    total += 1
    if (problems.length < MAX_DESCRIBED) problems.push({ line, reason })
  }
  for await (const arrived of readLines(source, read => (bytes = read))) {
    for (const line of arrived) {
      try {
        await stageLine(batch, line)
      } catch (error) {
        if (!(error instanceof BadLine)) throw error
        report(line.number, error.message)
      }
    }
    lines += arrived.length
    onProgress({ phase: 'reading', bytes, size: source.size, lines })
  }
  await batch.write()
  return { problems, total, lines }
}

async function stageLine(batch: StagingBatch, line: Line): Promise<void> {
  if (line.text === undefined) throw new BadLine(`longer than ${MAX_LINE} characters`)
  const { type, row, parts } = readLine(line.text)
  row.line = line.number
  for (const part of parts) await batch.add('part', { ...part, line: line.number, assessment_id: row.id })
  await batch.add(type, row)
}

/**
 * Index-only scans need the visibility map that only VACUUM writes, and good plans need statistics; after a
 * bulk load neither waits for autovacuum. A role that may not vacuum a table is only warned by Postgres.
 */
async function refreshStatistics(db: Sql): Promise<void> {
  await db`vacuum (analyze) organizations, products, users, assessments, assessment_parts, export_records`
}
