import { afterEach } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import { openDatabase } from '../../src/database/database.ts'
import { migrate } from '../../src/database/migrate.ts'
import { DIGEST_TYPE } from '../../src/database/value-types.ts'
import type { Finding } from '../../src/doctor/finding.ts'
import { freshDatabase } from './cluster.ts'
import { errorLine } from './executable.ts'
import { runInProcess } from './in-process.ts'
import { WORLD } from './operator.ts'
import { load } from './service.ts'

/** The names of all checks of doctor, in the order of the output. */
export const CHECKS = [
  ...['server', 'clock', 'search path', 'tables', 'privileges', 'schema', 'time zone'],
  ...['triggers', 'collations', 'export', 'integrations', 'last load'],
]

/** A database in which doctor finds nothing wrong. One test damages it. */
export interface HealthyDatabase {
  sql: Sql
  url: string
}

/**
 * Returns a function that creates Postgres databases with WORLD in them, vacuumed and analyzed. Each is dropped after
 * its test.
 */
export function useHealthyDatabases(): () => Promise<HealthyDatabase> {
  const cleanups: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0)) await cleanup()
  })
  return async () => {
    const { url, drop } = await freshDatabase('healthy', prepare)
    const sql = postgres(url, { max: 1, onnotice: () => {}, types: DIGEST_TYPE })
    cleanups.push(async () => {
      await sql.end({ timeout: 0 })
      await drop()
    })
    return { sql, url }
  }
}

async function prepare(url: string): Promise<void> {
  const { sql, close } = await openDatabase(url, 1)
  await migrate(sql)
  // Autovacuum would replace the statistics that a test creates.
  await sql`alter table export_records set (autovacuum_enabled = false)`
  await load(sql, WORLD)
  await sql`vacuum (analyze) export_records`
  await close()
}

/** The findings of doctor, and its line on standard error: null if nothing is wrong. */
interface Diagnosis {
  findings: Finding[]
  line: string | null
}

/** Runs `axport doctor --json` in this process and environment; throws if the output has the wrong form. */
export async function diagnose(env: Record<string, string>, ...options: string[]): Promise<Diagnosis> {
  const { code, stdout, stderr } = await runInProcess(['doctor', '--json', ...options], env)
  if (!stdout.startsWith('['))
    throw new Error(`axport doctor printed no findings: exit code ${code}, ${stderr}`)
  const findings = JSON.parse(stdout) as Finding[]
  if (code === 0 && stderr === '') return { findings, line: null }
  return { findings, line: errorLine({ code, stdout: '', stderr }, 1) }
}

/** Runs doctor on a database and returns the findings that are not ok, as "check: status, detail". */
export async function badFindings(url: string, ...options: string[]): Promise<string[]> {
  const { findings, line } = await diagnose({ DATABASE_URL: url }, ...options)
  const wrongs = findings.filter(finding => finding.status === 'wrong').length
  const expected =
    wrongs === 0 ? null : `${wrongs} ${wrongs === 1 ? 'check' : 'checks'} found something wrong`
  if (line !== expected) throw new Error(`expected the line ${expected} on standard error, not: ${line}`)
  return findings
    .filter(finding => finding.status !== 'ok')
    .map(({ check, status, detail }) => `${check}: ${status}, ${detail}`)
}

/** Runs doctor on a database and returns the detail of one check. */
export async function detailOf(
  url: string,
  check: string,
  ...options: string[]
): Promise<string | undefined> {
  const { findings } = await diagnose({ DATABASE_URL: url }, ...options)
  return findings.find(finding => finding.check === check)?.detail
}
