import type { Sql } from 'postgres'
import { type Finding, ok, skipped, unreadable, warning, wrong } from '../doctor/finding.ts'
import { firstThree } from '../errors.ts'
import {
  type IntegrationReport,
  listIntegrations,
  reportIntegration,
  type ScopeMember,
} from '../integrations/report.ts'

/** What a report on an integration is made of. */
const INTEGRATION_TABLES = [
  'organizations',
  'products',
  'export_records',
  'integrations',
  'integration_secrets',
  'integration_refusals',
  'access_tokens',
]

/**
 * A line for each integration whose requests cannot succeed, and for each set that was meant as all and is not all any
 * more; a disabled one is meant to be refused.
 */
export async function checkIntegrations(sql: Sql): Promise<Finding[]> {
  if ((await unreadable(sql, ...INTEGRATION_TABLES)).length > 0)
    return [skipped('integrations', 'this role cannot read their organizations: run doctor as the owner')]
  const integrations = await listIntegrations(sql)
  const findings: Finding[] = []
  for (const { client_id, state } of integrations) {
    if (state === 'disabled') continue
    const report = await reportIntegration(sql, client_id)
    findings.push(...refusals(report), ...omissions(report))
  }
  if (findings.length > 0) return findings
  return [
    ok(
      'integrations',
      integrations.length === 0
        ? 'none yet: axport integration create NAME makes one'
        : `${integrations.length}, all able to work or disabled`,
    ),
  ]
}

function refusals({ name, client_id, obstacles }: IntegrationReport): Finding[] {
  if (obstacles.length === 0) return []
  const isEmpty = obstacles.every(obstacle => obstacle.startsWith('nothing'))
  return [(isEmpty ? warning : wrong)('integrations', `${name} (${client_id}) gets ${obstacles.join('; ')}`)]
}

function omissions({ name, client_id, meant_as_all, come_since }: IntegrationReport): Finding[] {
  return meant_as_all
    .filter(set => come_since[set].length > 0)
    .map(set =>
      warning(
        'integrations',
        `${name} (${client_id}) was to read all ${set}, and since then ${some(come_since[set])} came: ` +
          `axport integration scope ${client_id} --add-new takes in what came, and --${set} with a list ends this warning`,
      ),
    )
}

/** How many there are, and the first three by name. */
function some(members: ScopeMember[]): string {
  return `${members.length} (${firstThree(members.map(({ id, name }) => `${id} ${name}`))})`
}
