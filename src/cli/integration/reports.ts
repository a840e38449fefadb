import type { ExactNumber } from '../../integrations/exact-ids.ts'
import {
  type ChangedIds,
  type Changes,
  type IntegrationReport,
  listIntegrations,
  readHistory,
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
    .action(async (id, { json }) => {
      const report = await withDatabase(({ sql }) => reportIntegration(sql, id))
      await (json ? printJson(report) : print(fieldLines(fieldsOf(report))))
    })

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
    ['refusals', report.refusals.map(describeRefusal)],
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

const describeRefusal = ({ what, count, first_at, last_at }: IntegrationReport['refusals'][number]) =>
  `${count} since ${first_at}, the last ${last_at}: ${what}`

function describeSecret(secret: IntegrationReport['secrets'][number]): string {
  const until = secret.ends_at ? `, ends ${secret.ends_at}` : ''
  const tokens = counted(secret.live_tokens, 'live token')
  return `made ${secret.created_at}${until}, ${tokens}, last used ${secret.last_used_at ?? 'never'}`
}

/** axport integration history */
export const historyCommand = () =>
  newCommand(
    'history',
    'Show every change of integrations, those of deleted ones too.',
    `The database writes the history, so it has changes made with SQL too. Entries are never changed or
removed, and have no secrets.

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
        ['time', 'client id', 'name', 'event', 'role', 'host', 'what changed'],
        events.map(({ at, client_id, name, event, role, host, changes }) => {
          const changed = describeChanges(changes).join('; ')
          return [at, client_id, name, event, role, host ?? '', changed]
        }),
      )
    })

function describeChanges(changes: Changes): string[] {
  const { name, purpose, contact, client_id, disabled_at, secret, expires_at } = changes
  const quoted = (text: string) => `"${text}"`
  return [
    ...describeText('name', name, quoted),
    ...describeText('purpose', purpose, quoted),
    ...describeText('contact', contact, quoted),
    ...describeText('client id', client_id, quoted),
    ...describeIds('organizations', changes.organizations),
    ...describeMeaning('organizations', changes.all_organizations),
    ...describeIds('products', changes.products),
    ...describeMeaning('products', changes.all_products),
    ...describeText('disabled since', disabled_at, toSeconds),
    ...describeIds('secrets', changes.secrets),
    ...describeText(secret === undefined ? 'it ends' : `secret ${secret} ends`, expires_at, toSeconds),
  ]
}

function describeText(
  label: string,
  change: [before: string | null, after: string | null] | undefined,
  format: (text: string) => string,
): string[] {
  if (!change) return []
  const [before, after] = change.map(text => (text === null ? 'none' : format(text)))
  return [change[0] === null ? `${label} ${after}` : `${label} ${before} → ${after}`]
}

/** More ids than these are only counted: a scope may have thousands. */
const SHOWN_IDS = 20

function describeIds(label: string, changed: ChangedIds = {}): string[] {
  const describe = (verb: string, ids: ExactNumber[] = []) => {
    const more = ids.length > SHOWN_IDS ? ` and ${ids.length - SHOWN_IDS} more` : ''
    return ids.length === 0 ? [] : [`${label} ${verb} ${ids.slice(0, SHOWN_IDS).join(',')}${more}`]
  }
  return [...describe('added', changed.added), ...describe('removed', changed.removed)]
}

const describeMeaning = (label: string, change: [unknown, unknown] | undefined) =>
  change ? [`${change[1] === true ? '' : 'no longer '}meant as all ${label}`] : []

/** An instant as jsonb has it, in UTC → to the second, as commands print it. */
const toSeconds = (text: string) => text.replace(/(\.\d+)?\+00:00$/, 'Z')
