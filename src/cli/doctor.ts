import type { Sql } from 'postgres'
import { databaseUrl, setting } from '../config.ts'
import { checkConfirmation } from '../doctor/confirmation-check.ts'
import { checkConnections, checkStatementTimeout } from '../doctor/connection-checks.ts'
import { checkEncryption } from '../doctor/encryption-check.ts'
import { checkErasures } from '../doctor/erasure-check.ts'
import { type Check, type Finding, failed, ok, runChecks, wrong } from '../doctor/finding.ts'
import { checkLocks } from '../doctor/lock-check.ts'
import { checkReadModel, checkTriggers } from '../doctor/read-model-checks.ts'
import { checkPrivileges, checkSchema } from '../doctor/schema-checks.ts'
import {
  checkDisclosures,
  checkLastImport,
  checkServer,
  checkStatistics,
  checkTimeZone,
} from '../doctor/server-checks.ts'
import { checkValuesInLog } from '../doctor/values-in-log-check.ts'
import { Failure } from '../errors.ts'
import type { Start } from '../postgres/connection/wire.ts'
import { type Database, openDatabase } from '../postgres/database.ts'
import { missingEmbedded } from '../postgres/embedded/embedded.ts'
import { DatabaseUnavailable, StatementTimeout } from '../postgres/failures.ts'
import { newCommand } from './arguments.ts'
import { checkIntegrations } from './doctor-integrations.ts'
import { readLimits } from './limits.ts'
import { counted, printJson, printTable } from './output.ts'
import { settingProblems } from './setting-problems.ts'

/** axport doctor */
export const doctorCommand = () =>
  newCommand(
    'doctor',
    'Check settings, database, schema, data and integrations. Exit code 1 if a check fails.',
    'Example: axport doctor --full',
  )
    .option('--full', 'compare every record with its source, not a sample of 1,000')
    .option('--json', 'print a JSON array')
    .action(async ({ full, json }) => {
      const findings = await examine(full === true)
      const rows = findings.map(({ check, status, detail }) => [check, status, detail])
      await (json ? printJson(findings) : printTable(['check', 'status', 'detail'], rows))
      const failed = findings.filter(finding => finding.status === 'wrong').length
      if (failed > 0) throw new Failure(`${counted(failed, 'check')} found something wrong`)
    })

/** Runs the checks in order. Without good settings, a database or a schema, or with a lock, the list ends there. */
async function examine(full: boolean): Promise<Finding[]> {
  const settings = checkSettings()
  if (settings.status === 'wrong') return [settings]
  const missing = missingEmbedded(databaseUrl())
  if (missing) return [settings, wrong('database', missing)]
  let database: Database
  try {
    database = await openDatabase(databaseUrl(), setting('DATABASE_POOL_SIZE'))
  } catch (error) {
    return [settings, failed('database', error)]
  }
  const { sql, kind } = database
  try {
    const ofServer = await runChecks(checksOfServer(database))
    const { finding: schema, state } = await checkSchema(sql)
    const ofSchema: Check[] = state === 'other' ? [] : [['privileges', () => checkPrivileges(sql)]]
    if (state === 'current') ofSchema.push(['locks', () => checkLocks(sql)])
    const findings = [
      settings,
      ok('database', `reached (${kind})`),
      ...ofServer,
      schema,
      ...(await runChecks(ofSchema)),
    ]
    // The checks of the data would wait for that lock, too.
    const isLocked = findings.some(({ check, status }) => check === 'locks' && status === 'wrong')
    return state === 'current' && !isLocked
      ? [...findings, ...(await runChecks(checksOfData(sql, full)))]
      : findings
  } finally {
    await database.close()
  }
}

function checksOfServer(database: Database): Check[] {
  const { sql, start } = database
  const { size: poolSize, statementMs: statement } = readLimits().pool
  const plan = { poolSize, statement }
  const ofPostgres = (start: Start): Check[] => [
    ['encryption', () => checkEncryption('encryption', start.route, 'DATABASE_URL')],
    ['connections', () => checkConnections(sql, start, plan)],
    ['statement timeout', () => examineStatementTimeout(database, statement)],
    ['values in the log', () => checkValuesInLog(sql)],
  ]
  return [
    ['server', () => checkServer(sql)],
    ['confirmation', () => checkConfirmation(sql)],
    ...(start ? ofPostgres(start) : []),
  ]
}

const checksOfData = (sql: Sql, full: boolean): Check[] => [
  ['time zone', () => checkTimeZone(sql)],
  ['disclosures', () => checkDisclosures(sql)],
  ['last import', () => checkLastImport(sql)],
  ['triggers', () => checkTriggers(sql)],
  ['read model', () => checkReadModel(sql, full)],
  ['erasures', () => checkErasures(sql)],
  ['statistics', () => checkStatistics(sql)],
  ['integrations', () => checkIntegrations(sql)],
]

function checkSettings(): Finding {
  const problems = settingProblems(databaseUrl)
  return problems.length === 0 ? ok('settings', 'readable') : wrong('settings', problems.join('; '))
}

/** Asks on a connection as requests have it. */
async function examineStatementTimeout(database: Database, statement: number): Promise<Finding> {
  const pool = database.pool({ ...readLimits().pool, size: 1 }, { info: () => {}, warn: () => {} })
  try {
    return await checkStatementTimeout(pool, statement)
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable || error instanceof StatementTimeout)) throw error
    const reason = error instanceof DatabaseUnavailable ? error.reason : 'the answer takes too long'
    const nothing = 'requests get no connection besides the one of this command'
    return wrong('statement timeout', `not checked: ${nothing}: ${reason}`)
  } finally {
    await pool.close()
  }
}
