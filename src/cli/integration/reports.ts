import { type Changes, readHistory } from '../../integrations/history.ts'
import {
  type IntegrationReport,
  listIntegrations,
  reportIntegration,
  type ScopeMember,
} from '../../integrations/report.ts'
import { newCommand } from '../arguments.ts'
import { counted, fieldLines, print, printJson, printTable } from '../output.ts'
import { withDatabase } from '../with-database.ts'

/** axport integration list */
export const listCommand = () =>
  newCommand('list', 'List the integrations.', 'Example: axport integration list --json')
    .option('--json', 'print a JSON array')
    .action(async ({ json }) => {
      const integrations = await withDatabase(({ sql }) => listIntegrations(sql))
      if (json) return await printJson(integrations)
      if (integrations.length === 0)
        return await print('There are no integrations yet: axport integration create NAME makes one.\n')
      await printTable(
        ['client id', 'name', 'state', 'organizations', 'products', 'live tokens', 'last used'],
        integrations.map(({ client_id, name, state, organizations, products, live_tokens, last_used_at }) =>
          [client_id, name, state, organizations, products, live_tokens, last_used_at ?? 'never'].map(String),
        ),
      )
    })

/** axport integration show ID */
export const showCommand = () =>
  newCommand(
    'show',
    'Show an integration, and why its requests would get 400, 401 or no records.',
    'Example: axport integration show BD77VoKUovcSbaUgYJQxPiOm',
  )
    .argument('<id>', 'its client id')
    .option('--json', 'print a JSON object')
    .action((id, { json }) => showIntegration(id, json))

/** Prints all about an integration. */
export async function showIntegration(id: string, asJson: true | undefined): Promise<void> {
  const report = await withDatabase(({ sql }) => reportIntegration(sql, id))
  await (asJson ? printJson(report) : print(fieldLines(fieldsOf(report))))
}

function fieldsOf(report: IntegrationReport): [label: string, texts: string | string[]][] {
  const { purpose, contact, disabled_at, secrets, organizations, products, obstacles } = report
  return [
    ['name', report.name],
    ['client id', report.client_id],
    ['purpose', purpose ?? []],
    ['contact', contact ?? []],
    ['state', disabled_at ? `disabled since ${disabled_at}` : 'enabled'],
    ['created', report.created_at],
    ['last used', report.last_used_at ?? 'never'],
    ['live tokens', String(report.live_tokens)],
    ['secrets', orNone(secrets.map(describeSecret))],
    ['organizations', orNone(organizations.map(describeMember))],
    ['products', orNone(products.map(describeMember))],
    ['meant as all', describeNew(report)],
    ['assessments', `${report.assessments_in_scope} in scope`],
    ['requests get', obstacles.length > 0 ? obstacles : '200'],
  ]
}

const orNone = (texts: string[]) => (texts.length > 0 ? texts : 'none')

const describeMember = ({ id, name }: ScopeMember) => `${id}  ${name ?? '(not in the data)'}`

/** For each set that was given as all, the members that were loaded since. */
function describeNew({ client_id, meant_as_all, come_since }: IntegrationReport): string[] {
  return meant_as_all.flatMap(set => {
    const members = come_since[set]
    const advice = `${members.length} loaded since, not in the scope: axport integration scope ${client_id} --add-new`
    return [`${set}: ${members.length === 0 ? 'none loaded since' : advice}`, ...members.map(describeMember)]
  })
}

function describeSecret(secret: IntegrationReport['secrets'][number]): string {
  const until = secret.expires_at ? `, ends ${secret.expires_at}` : ''
  const tokens = counted(secret.live_tokens, 'live token')
  return `made ${secret.created_at}${until}, ${tokens}, last used ${secret.last_used_at ?? 'never'}`
}

/** axport integration history */
export const historyCommand = () =>
  newCommand(
    'history',
    'Show what commands did with integrations, deleted ones too.',
    `Each command writes its entry in the transaction of its change. Changes made with SQL are not in the
history. The database refuses to change or remove entries. They have no secrets. "by" is the login
name of who ran the command, before sudo, or what --by said.

Example: axport integration history BD77VoKUovcSbaUgYJQxPiOm`,
  )
    .argument('[id]', 'a client id (default: all integrations)')
    .option('--json', 'print a JSON array')
    .action(async (id, { json }) => {
      const events = await withDatabase(({ sql }) => readHistory(sql, id))
      if (json) return await printJson(events)
      if (events.length === 0)
        return await print('There was no integration yet: axport integration create NAME makes one.\n')
      await printTable(
        ['time', 'client id', 'name', 'event', 'by', 'role', 'host', 'what changed'],
        events.map(({ at, client_id, name, event, by, role, host, changes }) => {
          const changed = describeChanges(changes).join('; ')
          return [at, client_id, name, event, by ?? '', role, host ?? '', changed]
        }),
      )
    })

/** More ids than these are only counted: a scope may have thousands. */
const SHOWN_IDS = 20

/** The columns of an event in the order of its text. */
const LABELS: Record<string, string> = {
  name: 'name',
  purpose: 'purpose',
  contact: 'contact',
  organizations: 'organizations',
  all_organizations: 'meant as all organizations',
  products: 'products',
  all_products: 'meant as all products',
  disabled_at: 'disabled since',
  secrets: 'secrets',
  old_secret_expires_at: 'the old secret ends',
}

const describeChanges = (changes: Changes): string[] =>
  Object.entries(LABELS).flatMap(([column, label]) => describeChange(label, changes[column]))

/** The new value of a column, or the members that a set has gained and lost. */
function describeChange(label: string, change: Changes[string] | undefined): string[] {
  if (Array.isArray(change)) {
    if (typeof change[1] === 'boolean') return [change[1] ? label : `no longer ${label}`]
    const [before, after] = change.map(describeValue)
    return [change[0] === null ? `${label} ${after}` : `${label} ${before} → ${after}`]
  }
  return Object.entries(change ?? {}).map(([verb, ids]) => {
    const more = ids.length > SHOWN_IDS ? ` and ${ids.length - SHOWN_IDS} more` : ''
    return `${label} ${verb} ${ids.slice(0, SHOWN_IDS).join(',')}${more}`
  })
}

function describeValue(value: string | boolean | null): string {
  if (value === null) return 'none'
  return /^\d{4}-\d\d-\d\dT[\d:]{8}Z$/.test(String(value)) ? String(value) : `"${value}"`
}
