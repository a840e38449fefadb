import { Command } from 'commander'
import type { Sql } from 'postgres'
import { databaseUrl, describeSettings, setting } from '../config.ts'
import { checkConnections, type Plan } from '../doctor/connection-checks.ts'
import { type Finding, ok, wrong } from '../doctor/finding.ts'
import { checkPrivileges } from '../doctor/privileges-check.ts'
import { checkReadModel } from '../doctor/read-model-check.ts'
import { checkSchema } from '../doctor/schema-check.ts'
import {
  checkDisclosures,
  checkLastImport,
  checkServer,
  checkStatistics,
  checkTimeZone,
} from '../doctor/server-checks.ts'
import { checkStandbys } from '../doctor/standby-checks.ts'
import { checkTriggers } from '../doctor/trigger-check.ts'
import { Failure } from '../errors.ts'
import { type Database, openDatabase } from '../postgres/database.ts'
import { missingEmbedded } from '../postgres/embedded/embedded.ts'
import { DatabaseUnavailable, StatementTimeout } from '../postgres/failures.ts'
import type { PoolBounds } from '../postgres/pool/connection-pool.ts'
import { readTls } from './certificate.ts'
import { checkIntegrations } from './doctor-integrations.ts'
import { readLimits } from './limits.ts'
import { print, printTable } from './output.ts'
import { standbyServers } from './standbys.ts'
import { countOf, readWorkers } from './workers.ts'

interface Options {
  full?: true
  json?: true
  workers: number | 'auto'
}

/** axport doctor */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description(
      'Check settings, database, schema, data and integrations; exit code 1 when something is wrong.',
    )
    .option('--full', 'compare every record with its source, not a sample of 1,000')
    .option(
      '--workers <n>',
      'as many as serve is to have: whether there are connections for them',
      readWorkers,
      1,
    )
    .option('--json', 'print a JSON array')
    .addHelpText('after', '\nExample: axport doctor --full')
    .action(async ({ full, json, workers }: Options) => {
      const findings = await examine(full === true, countOf(workers))
      if (json) await print(`${JSON.stringify(findings)}\n`)
      else
        await printTable(
          ['check', 'status', 'detail'],
          findings.map(f => [f.check, f.status, f.detail]),
        )
      const wrongs = findings.filter(finding => finding.status === 'wrong').length
      if (wrongs > 0)
        throw new Failure(`${wrongs} ${wrongs === 1 ? 'check' : 'checks'} found something wrong`)
    })
}

/** In an order in which each check may rely on those before it; it ends where the next ones cannot run. */
async function examine(full: boolean, workers: number): Promise<Finding[]> {
  const findings = checkSettings()
  if (findings.some(finding => finding.status === 'wrong')) return findings
  const missing = missingEmbedded(databaseUrl())
  if (missing) return [...findings, wrong('database', missing)]
  let database: Database
  try {
    database = await openDatabase(databaseUrl(), setting('DATABASE_POOL_SIZE'))
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return [...findings, wrong('database', error.message)]
  }
  try {
    findings.push(ok('database', `reached (${database.kind})`))
    findings.push(...(await checkServer(database.sql)))
    if (database.kind === 'postgres') findings.push(...(await examineConnections(database, workers)))
    findings.push(...(await examineStandbys(database, workers)))
    const { finding, state } = await checkSchema(database.sql)
    findings.push(finding)
    if (state !== 'other') findings.push(await checkPrivileges(database.sql))
    if (state === 'current') findings.push(...(await checkContents(database.sql, full)))
    return findings
  } finally {
    await database.close()
  }
}

async function examineConnections(database: Database, workers: number): Promise<Finding[]> {
  const { pool: bounds } = readLimits()
  const pool = database.pool({ ...bounds, size: 1 }, { info: () => {}, warn: () => {} })
  try {
    return await checkConnections(database.sql, pool, planOf(bounds, workers))
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable || error instanceof StatementTimeout)) throw error
    const why = error instanceof DatabaseUnavailable ? error.reason : 'the answer takes too long'
    return [wrong('connections', `requests get none beside the one of this command: ${why}`)]
  } finally {
    await pool.close()
  }
}

function planOf({ size: poolSize, statementMs: statement }: PoolBounds, workers: number): Plan {
  return { workers, poolSize, more: standbyServers().length > 0 ? 2 : 1, statement }
}

async function examineStandbys(database: Database, workers: number): Promise<Finding[]> {
  const plan = { ...planOf(readLimits().pool, workers), lag: setting('READ_LAG') }
  return await checkStandbys(database.sql, standbyServers(), plan)
}

/** One by one, and then what `serve` asks of them together. */
function checkSettings(): Finding[] {
  const problems = describeSettings().flatMap(({ name, problem }) => (problem ? [`${name} ${problem}`] : []))
  const together = problems.length === 0 ? [readLimits, readTls, standbyServers] : []
  for (const read of [databaseUrl, ...together]) {
    try {
      read()
    } catch (error) {
      problems.push((error as Error).message)
    }
  }
  return [problems.length === 0 ? ok('settings', 'readable') : wrong('settings', problems.join('; '))]
}

async function checkContents(sql: Sql, full: boolean): Promise<Finding[]> {
  return [
    await checkTimeZone(sql),
    await checkDisclosures(sql),
    await checkLastImport(sql),
    ...(await checkTriggers(sql)),
    await checkReadModel(sql, full),
    await checkStatistics(sql),
    ...(await checkIntegrations(sql)),
  ]
}
