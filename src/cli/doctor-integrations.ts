import type { Sql } from 'postgres'
import { canRead, type Finding, note, ok, skipped, warning, wrong } from '../doctor/finding.ts'
import { firstThree } from '../errors.ts'
import { type IntegrationReport, listIntegrations, reportIntegration } from '../integrations/report.ts'

const REPORT_TABLES = [
  'organizations',
  'products',
  'export_records',
  'integrations',
  'integration_secrets',
  'access_tokens',
]

/** A finding for each enabled integration whose requests fail, and for each set given as all that is not all now. */
export async function checkIntegrations(sql: Sql): Promise<Finding[]> {
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
    const finding = obstacles.some(obstacle => obstacle.startsWith('401'))
      ? wrong
      : obstacles.every(obstacle => obstacle.startsWith('nothing'))
        ? warning
        : note
    const isWaiting = finding === note ? ' waits for its scope, and' : ''
    findings.push(finding('integrations', `${who}${isWaiting} gets ${obstacles.join('; ')}`))
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
