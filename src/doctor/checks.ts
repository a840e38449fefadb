import { sql } from 'drizzle-orm'
import type { Sql } from 'postgres'
import { describeError } from '../database/describe-error.ts'
import { wouldHideRows } from '../database/failures.ts'
import { LOAD, SERVE } from '../database/grants.ts'
import { orm } from '../database/orm.ts'
import { whatServerFoldsAnew } from './collations.ts'
import { compareExport } from './export.ts'
import { type Db, type Finding, type Outcome, skipped, wrong } from './finding.ts'
import { whichIntegrationsFail } from './integrations.ts'
import { isSchemaCurrent, whatRoleCanDo, whenLastLoaded, whichTimeZone } from './schema.ts'
import { howFarClocksDiffer, whichServer } from './server.ts'
import { whatHidesRows, whereTablesAre } from './tables.ts'
import { doesSessionFireTriggers, whatSkipsTriggers } from './triggers.ts'

interface Options {
  /** For `axport serve --check`: only the checks that concern serving. */
  isServing?: boolean
  /** Compares every record, no sample. */
  isFull?: boolean
}

/** Looks at something, and changes nothing. */
type Check = (db: Db, options: Options) => Promise<Outcome | Outcome[]>

const OF_SERVING: [name: string, check: Check][] = [
  ['server', whichServer],
  ['clock', howFarClocksDiffer],
  ['search path', whereTablesAre],
  ['tables', whatHidesRows],
  ['privileges', (db, { isServing }) => whatRoleCanDo(db, isServing ? [SERVE] : [SERVE, LOAD])],
  ['schema', isSchemaCurrent],
  ['time zone', whichTimeZone],
  ['triggers', (db, { isServing }) => (isServing ? doesSessionFireTriggers(db) : whatSkipsTriggers(db))],
]

const OF_DATA: [name: string, check: Check][] = [
  ['collations', whatServerFoldsAnew],
  ['export', (db, { isFull }) => compareExport(db, isFull === true)],
  ['integrations', whichIntegrationsFail],
  ['last load', whenLastLoaded],
]

/** Without these, the checks after them cannot run. */
const ESSENTIAL = ['server', 'search path', 'privileges', 'schema']

/** How long a check waits for a table that another session has locked. */
const LOCK_TIMEOUT = '5s'

/** Runs the checks of `axport doctor` in their order, up to an essential one that finds something wrong. */
export async function examine(db: Sql, options: Options): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const [name, check] of options.isServing ? OF_SERVING : [...OF_SERVING, ...OF_DATA]) {
    const outcomes = await run(check, db, options)
    findings.push(...outcomes.map(outcome => ({ check: name, ...outcome })))
    if (ESSENTIAL.includes(name) && outcomes.some(({ status }) => status === 'wrong')) break
  }
  return findings
}

/** A check that fails has an outcome, too: the others still run. */
async function run(check: Check, db: Sql, options: Options): Promise<Outcome[]> {
  try {
    return await db.begin('read only', async client => {
      await orm(client).execute(sql`select set_config('lock_timeout', ${LOCK_TIMEOUT}, true)`)
      return [await check(client, options)].flat()
    })
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    if (wouldHideRows(error)) return [skipped('row level security refuses to answer this: see tables')]
    if (code === '42501')
      return [skipped(`this role may not look (${message}): run doctor as the owner of the tables`)]
    if (code === '55P03')
      return [wrong('another session locks a table: end that session, which pg_locks shows, and try again')]
    return [wrong(describeError(error))]
  }
}
