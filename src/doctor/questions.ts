import { sql } from 'drizzle-orm'
import type { Sql } from 'postgres'
import { describeError } from '../database/describe-error.ts'
import { LOAD, SERVE } from '../database/grants.ts'
import { orm } from '../database/orm.ts'
import { type Answer, type Db, type Finding, skipped, wrong } from './answer.ts'
import { compareExport } from './export.ts'
import { whichIntegrationsFail } from './integrations.ts'
import { doesSessionFireTriggers, whatHidesRows, whatSkipsTriggers } from './obstacles.ts'
import { isSchemaCurrent, whatRoleCanDo, whenLastLoaded, whichTimeZone } from './schema.ts'
import { howFarClocksDiffer, whichServer } from './server.ts'

interface Options {
  /** For `axport serve --check`: only the questions that concern serving. */
  isServing?: boolean
  /** Compares every record, no sample. */
  isWhole?: boolean
}

/** Finds an answer, and changes nothing. */
type Ask = (db: Db, options: Options) => Promise<Answer | Answer[]>

const OF_SERVING: [check: string, ask: Ask][] = [
  ['server', whichServer],
  ['clock', howFarClocksDiffer],
  ['privileges', (db, { isServing }) => whatRoleCanDo(db, isServing ? [SERVE] : [SERVE, LOAD])],
  ['schema', isSchemaCurrent],
  ['time zone', whichTimeZone],
  ['row security', whatHidesRows],
  ['triggers', (db, { isServing }) => (isServing ? doesSessionFireTriggers(db) : whatSkipsTriggers(db))],
]

const OF_DATA: [check: string, ask: Ask][] = [
  ['export', (db, { isWhole }) => compareExport(db, isWhole === true)],
  ['integrations', whichIntegrationsFail],
  ['last load', whenLastLoaded],
]

/** Without these, the questions after them cannot be answered. */
const ESSENTIAL = ['server', 'privileges', 'schema']

/** How long a question waits for a table that another session has locked. */
const LOCK_TIMEOUT = '5s'

/** Answers the questions of `axport doctor` in their order, up to an essential one that finds something wrong. */
export async function examine(db: Sql, options: Options): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const [check, ask] of options.isServing ? OF_SERVING : [...OF_SERVING, ...OF_DATA]) {
    const answers = await answersTo(ask, db, options)
    findings.push(...answers.map(answer => ({ check, ...answer })))
    if (ESSENTIAL.includes(check) && answers.some(({ status }) => status === 'wrong')) break
  }
  return findings
}

/** A question that fails is an answer, too: the others are still asked. */
async function answersTo(ask: Ask, db: Sql, options: Options): Promise<Answer[]> {
  try {
    return await db.begin('read only', async client => {
      await orm(client).execute(sql`select set_config('lock_timeout', ${LOCK_TIMEOUT}, true)`)
      return [await ask(client, options)].flat()
    })
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    if (code === '42501')
      return [skipped(`this role may not look (${message}): run doctor as the owner of the tables`)]
    if (code === '55P03')
      return [wrong('another session locks a table: end that session, which pg_locks shows, and try again')]
    return [wrong(describeError(error))]
  }
}
