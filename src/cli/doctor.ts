import type { Sql } from 'postgres'
import { databaseUrl, describeSettings, setting } from '../config.ts'
import { checkConnections, type Plan } from '../doctor/connection-checks.ts'
import { canRead, type Finding, ok, skipped, warning, wrong } from '../doctor/finding.ts'
import { checkReadModel, checkTriggers } from '../doctor/read-model-checks.ts'
import { checkPrivileges, checkSchema } from '../doctor/schema-checks.ts'
import {
  checkDisclosures,
  checkLastImport,
  checkServer,
  checkStatistics,
  checkTimeZone,
} from '../doctor/server-checks.ts'
import { checkStandbys } from '../doctor/standby-checks.ts'
import { Failure, firstThree } from '../errors.ts'
import { type IntegrationReport, listIntegrations, reportIntegration } from '../integrations/report.ts'
import { type Database, openDatabase } from '../postgres/database.ts'
import { missingEmbedded } from '../postgres/embedded/embedded.ts'
import { DatabaseUnavailable, StatementTimeout } from '../postgres/failures.ts'
import { countWorkers, newCommand, readWorkers } from './arguments.ts'
import { counted, printJson, printTable } from './output.ts'
import { readLimits, readTls } from './service.ts'
import { configuredStandbys } from './standbys.ts'

/** axport doctor */
export const doctorCommand = () =>
  newCommand(
    'doctor',
    'Check settings, database, schema, data and integrations. Exit code 1 if a check fails.',
    'Example: axport doctor --full',
  )
    .option('--full', 'compare every record with its source, not a sample of 1,000')
    .option('--workers <n>', 'check that Postgres has connections for so many workers', readWorkers, 1)
    .option('--json', 'print a JSON array')
    .action(async ({ full, json, workers }) => {
      const findings = await examine(full === true, countWorkers(workers))
      const rows = findings.map(({ check, status, detail }) => [check, status, detail])
      await (json ? printJson(findings) : printTable(['check', 'status', 'detail'], rows))
      const failed = findings.filter(finding => finding.status === 'wrong').length
      if (failed > 0) throw new Failure(`${counted(failed, 'check')} found something wrong`)
    })

/** Runs the checks in order: each needs those before it, so a failure may end the list. */
async function examine(full: boolean, workers: number): Promise<Finding[]> {
  const findings = checkSettings()
  if (findings.some(finding => finding.status === 'wrong')) return findings
  const missing = missingEmbedded(databaseUrl())
  if (missing) return [...findings, wrong('database', missing)]
  const database = await openDatabase(databaseUrl(), setting('DATABASE_POOL_SIZE')).catch(error => {
    if (error instanceof Failure) return error
    throw error
  })
  if (database instanceof Failure) return [...findings, wrong('database', database.message)]
  const { sql, kind } = database
  try {
    const servers = configuredStandbys()
    const { size: poolSize, statementMs: statement } = readLimits().pool
    const plan = { workers, poolSize, more: servers.length > 0 ? 2 : 1, statement }
    findings.push(ok('database', `reached (${kind})`), ...(await checkServer(sql)))
    if (kind === 'postgres') findings.push(...(await examineConnections(database, plan)))
    findings.push(...(await checkStandbys(sql, servers, { ...plan, lag: setting('READ_LAG') })))
    const { finding, state } = await checkSchema(sql)
    findings.push(finding)
    if (state !== 'other') findings.push(await checkPrivileges(sql))
    if (state === 'current')
      findings.push(
        await checkTimeZone(sql),
        await checkDisclosures(sql),
        await checkLastImport(sql),
        ...(await checkTriggers(sql)),
        await checkReadModel(sql, full),
        await checkStatistics(sql),
        ...(await checkIntegrations(sql)),
      )
    return findings
  } finally {
    await database.close()
  }
}

/** Each setting, and then those that `serve` combines. */
function checkSettings(): Finding[] {
  const problems = describeSettings().flatMap(({ name, problem }) => (problem ? [`${name} ${problem}`] : []))
  const combined = problems.length === 0 ? [readLimits, readTls, configuredStandbys] : []
  for (const read of [databaseUrl, ...combined]) {
    try {
      read()
    } catch (error) {
      problems.push((error as Error).message)
    }
  }
  return [problems.length === 0 ? ok('settings', 'readable') : wrong('settings', problems.join('; '))]
}

async function examineConnections(database: Database, plan: Plan): Promise<Finding[]> {
  const pool = database.pool({ ...readLimits().pool, size: 1 }, { info: () => {}, warn: () => {} })
  try {
    return await checkConnections(database.sql, pool, plan)
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable || error instanceof StatementTimeout)) throw error
    const reason = error instanceof DatabaseUnavailable ? error.reason : 'the answer takes too long'
    return [wrong('connections', `requests get none besides the one of this command: ${reason}`)]
  } finally {
    await pool.close()
  }
}

const REPORT_TABLES = [
  'organizations',
  'products',
  'export_records',
  'integrations',
  'integration_secrets',
  'integration_refusals',
  'access_tokens',
]

/** A finding for each enabled integration whose requests fail, and for each set given as all that is not all now. */
async function checkIntegrations(sql: Sql): Promise<Finding[]> {
  if (!(await canRead(sql, ...REPORT_TABLES)))
    return [skipped('integrations', 'this role cannot read their organizations: run doctor as the owner')]
  const integrations = await listIntegrations(sql)
  const enabled = integrations.filter(({ state }) => state === 'enabled')
  const reports = await Array.fromAsync(enabled, ({ client_id }) => reportIntegration(sql, client_id))
  const findings = reports.flatMap(findingsOf)
  if (findings.length > 0) return findings
  const none = 'none yet: axport integration create NAME makes one'
  const all = `${integrations.length}, all able to work or disabled`
  return [ok('integrations', integrations.length === 0 ? none : all)]
}

function findingsOf({ name, client_id, obstacles, meant_as_all, come_since }: IntegrationReport): Finding[] {
  const who = `${name} (${client_id})`
  const findings: Finding[] = []
  if (obstacles.length > 0) {
    const isEmpty = obstacles.every(obstacle => obstacle.startsWith('nothing'))
    findings.push((isEmpty ? warning : wrong)('integrations', `${who} gets ${obstacles.join('; ')}`))
  }
  for (const set of meant_as_all) {
    const members = come_since[set]
    if (members.length === 0) continue
    const named = `${members.length} (${firstThree(members.map(({ id, name }) => `${id} ${name}`))})`
    const command = `axport integration scope ${client_id}`
    const advice = `${command} --add-new adds them, and --${set} with a list ends this warning`
    const detail = `${who} was given all ${set}, and ${named} were loaded since: ${advice}`
    findings.push(warning('integrations', detail))
  }
  return findings
}
