import { Command } from 'commander'
import { exactJson } from '../../integrations/exact-ids.ts'
import { type IntegrationReport, reportIntegration, type ScopeMember } from '../../integrations/report.ts'
import { escaped, print } from '../output.ts'
import { withDatabase } from '../with-database.ts'

/** axport integration show ID */
export function showCommand(): Command {
  return new Command('show')
    .description(
      'Show all there is to know of one integration, and why its requests would get 400, 401 or nothing.',
    )
    .argument('<id>', 'its client id')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExample: axport integration show BD77VoKUovcSbaUgYJQxPiOm')
    .action(async (id: string, { json }: { json?: true }) => {
      const report = await withDatabase(({ sql }) => reportIntegration(sql, id))
      await print(json ? `${exactJson(report)}\n` : describe(report))
    })
}

function describe(report: IntegrationReport): string {
  const lines = [
    ['name', report.name],
    ['client id', report.client_id],
    ...(report.purpose === null ? [] : [['purpose', report.purpose]]),
    ...(report.contact === null ? [] : [['contact', report.contact]]),
    ['state', report.disabled_at ? `disabled since ${report.disabled_at}` : 'enabled'],
    ['created', report.created_at],
    ['last used', report.last_used_at ?? 'never'],
    ['live tokens', String(report.live_tokens)],
    ...labelled('secrets', report.secrets.map(describeSecret)),
    ...labelled('organizations', report.organizations.map(describeMember)),
    ...labelled('products', report.products.map(describeMember)),
    ...(report.meant_as_all.length > 0 ? labelled('meant as all', describeNew(report)) : []),
    ['assessments', `${report.assessments_in_scope} in scope`],
    ...(report.refusals.length > 0 ? labelled('refusals', report.refusals.map(describeRefusal)) : []),
    ...labelled('requests get', report.obstacles.length > 0 ? report.obstacles : ['200']),
  ]
  return lines.map(([label, text]) => `${(label ?? '').padEnd(15)}${escaped(text ?? '')}\n`).join('')
}

/** The label stands before the first of several lines. */
function labelled(label: string, texts: string[]): string[][] {
  return texts.length === 0 ? [[label, 'none']] : texts.map((text, index) => [index === 0 ? label : '', text])
}

function describeMember({ id, name }: ScopeMember): string {
  return `${id}  ${name ?? '(not in the data)'}`
}

/** Each set that was meant as all, with a line for whatever has come to the data since. */
function describeNew({ client_id, meant_as_all, come_since }: IntegrationReport): string[] {
  return meant_as_all.flatMap(set => {
    const come = come_since[set]
    const told = `${come.length} came since and not in the scope: axport integration scope ${client_id} --add-new`
    return [`${set}: ${come.length === 0 ? 'none came since' : told}`, ...come.map(describeMember)]
  })
}

function describeRefusal({ what, count, first_at, last_at }: IntegrationReport['refusals'][number]): string {
  return `${count} since ${first_at}, the last ${last_at}: ${what}`
}

function describeSecret(secret: IntegrationReport['secrets'][number]): string {
  const until = secret.ends_at ? `, ends ${secret.ends_at}` : ''
  const tokens = `${secret.live_tokens} live ${secret.live_tokens === 1 ? 'token' : 'tokens'}`
  return `made ${secret.created_at}${until}, ${tokens}, last used ${secret.last_used_at ?? 'never'}`
}
