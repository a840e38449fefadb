import { Command, Option } from 'commander'
import { UsageFailure } from '../../errors.ts'
import { createIntegration } from '../../integrations/credentials.ts'
import { exactNumber } from '../../integrations/exact-ids.ts'
import { describeIntegration } from '../../integrations/lifecycle.ts'
import {
  addNew,
  type ChangedScope,
  type ChangedSet,
  changeScope,
  type Ids,
  type SetChange,
} from '../../integrations/scope.ts'
import { readIds } from '../arguments.ts'
import { fieldLines, print, printJson } from '../output.ts'
import { changeAndWait, waitOption } from '../standbys.ts'
import { withDatabase } from '../with-database.ts'
import { deleteCommand, printCredentials, rotateCommand, stateCommands } from './access.ts'
import { historyCommand, listCommand, showCommand } from './reports.ts'

/** axport integration … */
export function integrationCommand(): Command {
  const integration = new Command('integration').description(
    'Manage the applications that may read the export.',
  )
  for (const command of [
    createCommand(),
    listCommand(),
    showCommand(),
    describeCommand(),
    scopeCommand(),
    rotateCommand(),
    ...stateCommands(),
    deleteCommand(),
    historyCommand(),
  ])
    integration.addCommand(command)
  return integration.addHelpText(
    'after',
    '\nAn integration is one of these applications. ID is its client id.\nChanges take effect with the next request, on every running service.\n\nExample: axport integration list',
  )
}

interface CreateOptions {
  organizations?: Ids
  products?: Ids
  purpose?: string
  contact?: string
  json?: true
}

function createCommand(): Command {
  return new Command('create')
    .description('Create an integration and print its client id and secret. The secret is shown only once.')
    .argument('<name>', 'a name for people, such as "Lakeside nightly export"')
    .option('--organizations <ids>', 'organizations it may read: 1,2 or all (default: none)', readIds)
    .option('--products <ids>', 'products it may read: 1,2 or all (default: none)', readIds)
    .addOption(textOption('purpose', 'why it reads the data, such as "Recertification in the HR system"'))
    .addOption(textOption('contact', 'the person to ask about it, such as "hr@lakeside.example"'))
    .option('--json', 'print a JSON object')
    .addHelpText(
      'after',
      `
A product is an assessment that can be taken. axport disclosures shows the purpose.

Example: axport integration create "Lakeside HR" --organizations 12,13 --products all --purpose HR`,
    )
    .action(async (text: string, { organizations = [], products = [], ...options }: CreateOptions) => {
      const name = readText('name', text)
      const description = { purpose: options.purpose ?? null, contact: options.contact ?? null }
      const credentials = await withDatabase(({ sql }) =>
        createIntegration(sql, name, organizations, products, description),
      )
      await printCredentials(credentials, options.json)
    })
}

/** commander gives `false` for --no-purpose and --no-contact. */
interface DescribeOptions {
  name?: string
  purpose?: string | false
  contact?: string | false
  json?: true
}

function describeCommand(): Command {
  return new Command('describe')
    .description('Change the name, the purpose or the contact of an integration.')
    .argument('<id>', 'its client id')
    .addOption(textOption('name', 'a name for people'))
    .addOption(textOption('purpose', 'why it reads the data'))
    .option('--no-purpose', 'remove the purpose')
    .addOption(textOption('contact', 'the person to ask about it'))
    .option('--no-contact', 'remove the contact')
    .option('--json', 'print a JSON object')
    .addHelpText(
      'after',
      `
The old values stay in axport integration history, and in the disclosures recorded until now.

Example: axport integration describe BD77VoKUovcSbaUgYJQxPiOm --purpose "Recertification"`,
    )
    .action(async (id: string, { name, purpose, contact, json }: DescribeOptions) => {
      const changes = {
        ...(name !== undefined && { name }),
        ...(purpose !== undefined && { purpose: purpose || null }),
        ...(contact !== undefined && { contact: contact || null }),
      }
      if (Object.keys(changes).length === 0)
        throw new UsageFailure('say what to change: --name, --purpose or --contact')
      const now = await withDatabase(({ sql }) => describeIntegration(sql, id, changes))
      if (json) return await printJson({ client_id: id, ...now })
      await print(fieldLines(Object.entries(now).map(([label, text]) => [label, text ?? 'none'])))
    })
}

const textOption = (name: string, help: string) =>
  new Option(`--${name} <text>`, help).argParser(text => readText(name, text))

/**
 * A text about an integration, trimmed.
 * @throws UsageFailure for a text that is blank, longer than 500 characters, or more than one line
 */
function readText(name: string, text: string): string {
  const line = text.trim()
  const problem =
    line === ''
      ? 'must not be blank'
      : [...line].length > 500
        ? 'may have 500 characters at most'
        : /[\p{Cc}\p{Zl}\p{Zp}]/u.test(line) && 'must not have line breaks or control characters'
  if (problem) throw new UsageFailure(`the ${name} of an integration ${problem}`)
  return line
}

interface ScopeOptions {
  organizations?: Ids
  addOrganizations?: Ids
  removeOrganizations?: Ids
  products?: Ids
  addProducts?: Ids
  removeProducts?: Ids
  addNew?: true
  wait: number
  json?: true
}

function scopeCommand(): Command {
  return new Command('scope')
    .description('Replace or change the sets of organizations and products that an integration may read.')
    .argument('<id>', 'its client id')
    .option('--organizations <ids>', 'replace the organizations: 1,2 or all', readIds)
    .option('--add-organizations <ids>', 'add organizations: 1,2', readIds)
    .option('--remove-organizations <ids>', 'remove organizations: 1,2', readIds)
    .option('--products <ids>', 'replace the products: 1,2 or all', readIds)
    .option('--add-products <ids>', 'add products: 1,2', readIds)
    .option('--remove-products <ids>', 'remove products: 1,2', readIds)
    .option('--add-new', 'add what was loaded since a set was last given as all')
    .addOption(waitOption())
    .option('--json', 'print a JSON object')
    .addHelpText(
      'after',
      `
"all" means all that the database has now. What is loaded later is not in the scope until you run
--add-new; axport integration show and axport doctor list it.

Example: axport integration scope BD77VoKUovcSbaUgYJQxPiOm --add-organizations 14 --products all`,
    )
    .action(async (id: string, options: ScopeOptions) => {
      const { organizations, addOrganizations, removeOrganizations } = options
      const { products, addProducts, removeProducts } = options
      const changes = [
        setChange(organizations, addOrganizations, removeOrganizations),
        setChange(products, addProducts, removeProducts),
      ] as const
      const isChanged = changes.some(change => Object.keys(change).length > 0)
      if (isChanged && options.addNew) throw new UsageFailure('--add-new goes with no other change')
      if (!isChanged && !options.addNew)
        throw new UsageFailure('say what to change: axport integration scope --help lists the options')
      await changeAndWait(
        options.wait,
        sql => (options.addNew ? addNew(sql, id) : changeScope(sql, id, ...changes)),
        scope => printScope(scope, options.json),
      )
    })
}

const setChange = (replace?: Ids, add?: Ids, remove?: Ids): SetChange => ({
  ...(replace !== undefined && { replace }),
  ...(add !== undefined && { add }),
  ...(remove !== undefined && { remove }),
})

async function printScope(scope: ChangedScope, asJson?: true): Promise<void> {
  const sets = Object.entries(scope)
  if (asJson) await printJson(Object.fromEntries(sets.map(([label, set]) => [label, jsonOf(set)])))
  else await print(fieldLines(sets.map(([label, set]) => [label, textOf(set)])))
}

const jsonOf = ({ ids, added, removed, meantAsAll }: ChangedSet) => ({
  ...{ ids: ids.map(exactNumber), added, removed },
  meant_as_all: meantAsAll,
})

const textOf = ({ ids, added, removed, meantAsAll }: ChangedSet) =>
  `${ids.length} (${added} added, ${removed} removed)${meantAsAll ? ', meant as all' : ''}`
