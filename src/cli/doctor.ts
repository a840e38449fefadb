import { Command } from 'commander'
import type { Sql } from 'postgres'
import { databaseUrl, describeSettings, setting } from '../config.ts'
import { type Finding, ok, wrong } from '../doctor/finding.ts'
import { missingEmbedded } from '../doctor/folder-check.ts'
import { checkPrivileges } from '../doctor/privileges-check.ts'
import { checkReadModel } from '../doctor/read-model-check.ts'
import { checkSchema } from '../doctor/schema-check.ts'
import { checkServer, checkStatistics, checkTimeZone } from '../doctor/server-checks.ts'
import { checkTriggers } from '../doctor/trigger-check.ts'
import { Failure } from '../errors.ts'
import { openDatabase } from '../postgres/database.ts'
import { checkIntegrations } from './doctor-integrations.ts'
import { print, printTable } from './output.ts'

/** axport doctor */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description(
      'Check settings, database, schema, data and integrations; exit code 1 when something is wrong.',
    )
    .option('--full', 'compare every record with its source, not a sample of 1,000')
    .option('--json', 'print a JSON array')
    .addHelpText('after', '\nExample: axport doctor --full')
    .action(async ({ full, json }: { full?: true; json?: true }) => {
      const findings = await examine(full === true)
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
async function examine(full: boolean): Promise<Finding[]> {
  const findings = checkSettings()
  if (findings.some(finding => finding.status === 'wrong')) return findings
  const missing = missingEmbedded(databaseUrl())
  if (missing) return [...findings, wrong('database', missing)]
  let database: Awaited<ReturnType<typeof openDatabase>>
  try {
    database = await openDatabase(databaseUrl(), setting('DATABASE_POOL_SIZE'))
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return [...findings, wrong('database', error.message)]
  }
  try {
    findings.push(ok('database', `reached (${database.kind})`))
    findings.push(...(await checkServer(database.sql)))
    const { finding, state } = await checkSchema(database.sql)
    findings.push(finding)
    if (state !== 'other') findings.push(await checkPrivileges(database.sql))
    if (state === 'current') findings.push(...(await checkContents(database.sql, full)))
    return findings
  } finally {
    await database.close()
  }
}

function checkSettings(): Finding[] {
  const problems = describeSettings().flatMap(({ name, problem }) => (problem ? [`${name} ${problem}`] : []))
  try {
    databaseUrl()
  } catch (error) {
    problems.push((error as Error).message)
  }
  return [problems.length === 0 ? ok('settings', 'readable') : wrong('settings', problems.join('; '))]
}

async function checkContents(sql: Sql, full: boolean): Promise<Finding[]> {
  return [
    await checkTimeZone(sql),
    ...(await checkTriggers(sql)),
    await checkReadModel(sql, full),
    await checkStatistics(sql),
    ...(await checkIntegrations(sql)),
  ]
}
