import { Option } from '@commander-js/extra-typings'
import { UsageFailure } from '../../errors.ts'
import { createIntegration } from '../../integrations/credentials.ts'
import { exactNumber } from '../../integrations/exact-ids.ts'
import { deleteIntegration, describeIntegration } from '../../integrations/lifecycle.ts'
import { addNew, type ChangedScope, changeScope } from '../../integrations/scope.ts'
import { given, newCommand, readIds, readText } from '../arguments.ts'
import { changeAndReport, type Doubt, oneChange } from '../changing.ts'
import { fieldLines, print, printJson } from '../output.ts'
import { byOption, inNameOf } from './by.ts'
import { deleteCommand, printCredentials, rotateCommand, shownBy, stateCommand } from './lifecycle.ts'
import { historyCommand, listCommand, showCommand, showIntegration } from './reports.ts'

/** axport integration … */
export const integrationCommand = () =>
  newCommand(
    'integration',
    'Manage the applications that may read the export.',
    'An integration is one of these applications. ID is its client id.\nChanges take effect with the next request, on every running service.\n\nExample: axport integration list',
  )
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(describeCommand())
    .addCommand(scopeCommand())
    .addCommand(rotateCommand())
    .addCommand(stateCommand('disable'))
    .addCommand(stateCommand('enable'))
    .addCommand(deleteCommand())
    .addCommand(historyCommand())

const createCommand = () =>
  newCommand(
    'create',
    'Create an integration and print its client id and secret. The secret is shown only once.',
    `A product is an assessment that can be taken. axport disclosures shows the purpose.

Example: axport integration create "Lakeside HR" --organizations 12,13 --products all --purpose HR`,
  )
    .argument('<name>', 'a name for people, such as "Lakeside nightly export"', readText('name'))
    .option('--organizations <ids>', 'organizations it may read: 1,2 or all (default: none)', readIds)
    .option('--products <ids>', 'products it may read: 1,2 or all (default: none)', readIds)
    .addOption(textOption('purpose', 'why it reads the data, such as "Recertification in the HR system"'))
    .addOption(textOption('contact', 'the office to ask about it, such as "hr@lakeside.example"'))
    .addOption(byOption())
    .option('--json', 'print a JSON object')
    .action(async (name, { organizations = [], products = [], ...options }) => {
      const description = { purpose: options.purpose ?? null, contact: options.contact ?? null }
      await changeAndReport(
        oneChange(
          'the integration was created',
          'no integration was created',
          'axport integration list shows it',
        ),
        sql => createIntegration(inNameOf(sql, options.by), name, organizations, products, description),
        (credentials, doubt) => printCredentials(credentials, options.json, doubt),
        {
          undo: {
            run: (sql, { clientId }) => deleteIntegration(sql, clientId),
            undone: 'the integration was deleted again',
            otherwise: ({ clientId }) => `axport integration delete ${clientId}`,
          },
        },
      )
    })

const describeCommand = () =>
  newCommand(
    'describe',
    'Change the name, the purpose or the contact of an integration.',
    `Without such an option the command changes nothing, and prints what axport integration show prints.
The old values stay in axport integration history, and in the disclosures recorded until now.

Example: axport integration describe BD77VoKUovcSbaUgYJQxPiOm --purpose "Recertification"`,
  )
    .argument('<id>', 'its client id')
    .addOption(textOption('name', 'a name for people'))
    .addOption(textOption('purpose', 'why it reads the data'))
    .option('--no-purpose', 'remove the purpose')
    .addOption(textOption('contact', 'the office to ask about it'))
    .option('--no-contact', 'remove the contact')
    .addOption(byOption())
    .option('--json', 'print a JSON object')
    .action(async (id, { name, purpose, contact, by, json }) => {
      // commander gives `false` for --no-purpose and --no-contact.
      const [why, whom] = [purpose, contact].map(text => (text === false ? null : text))
      const changes = given({ name, purpose: why, contact: whom })
      if (Object.keys(changes).length === 0) return await showIntegration(id, json)
      await changeAndReport(
        changeOf(id),
        sql => describeIntegration(inNameOf(sql, by), id, changes),
        async (now, doubt) => {
          if (json) await printJson({ client_id: id, ...now, ...doubt })
          else if (!doubt)
            await print(fieldLines(Object.entries(now).map(([label, text]) => [label, text ?? 'none'])))
        },
      )
    })

const changeOf = (id: string) => oneChange('the integration was changed', 'nothing was changed', shownBy(id))

const textOption = <const Name extends string>(name: Name, help: string) =>
  new Option(`--${name} <text>`, help).argParser(readText(name))

const scopeCommand = () =>
  newCommand(
    'scope',
    'Replace or change the sets of organizations and products that an integration may read.',
    `"all" means all that the database has now. What is loaded later is not in the scope until you run
--add-new; axport integration show lists it.

Example: axport integration scope BD77VoKUovcSbaUgYJQxPiOm --add-organizations 14 --products all`,
  )
    .argument('<id>', 'its client id')
    .option('--organizations <ids>', 'replace the organizations: 1,2 or all', readIds)
    .option('--add-organizations <ids>', 'add organizations: 1,2', readIds)
    .option('--remove-organizations <ids>', 'remove organizations: 1,2', readIds)
    .option('--products <ids>', 'replace the products: 1,2 or all', readIds)
    .option('--add-products <ids>', 'add products: 1,2', readIds)
    .option('--remove-products <ids>', 'remove products: 1,2', readIds)
    .option('--add-new', 'add what was loaded since a set was last given as all')
    .addOption(byOption())
    .option('--json', 'print a JSON object')
    .action(async (id, options) => {
      const { organizations, addOrganizations, removeOrganizations } = options
      const { products, addProducts, removeProducts } = options
      const changes = [
        given({ replace: organizations, add: addOrganizations, remove: removeOrganizations }),
        given({ replace: products, add: addProducts, remove: removeProducts }),
      ] as const
      const isChanged = changes.some(change => Object.keys(change).length > 0)
      if (isChanged === (options.addNew === true))
        throw new UsageFailure('give changes, or --add-new alone: axport integration scope --help lists them')
      await changeAndReport(
        changeOf(id),
        sql => {
          const named = inNameOf(sql, options.by)
          return options.addNew ? addNew(named, id) : changeScope(named, id, ...changes)
        },
        (scope, doubt) => printScope(scope, options.json, doubt),
      )
    })

async function printScope(
  scope: ChangedScope,
  asJson: true | undefined,
  doubt: Doubt | undefined,
): Promise<void> {
  const object: Record<string, object> = {}
  const fields: [label: string, text: string][] = []
  for (const [label, { ids, added, removed, meantAsAll }] of Object.entries(scope)) {
    object[label] = { ids: ids.map(exactNumber), added, removed, meant_as_all: meantAsAll }
    const meant = meantAsAll ? ', meant as all' : ''
    fields.push([label, `${ids.length} (${added} added, ${removed} removed)${meant}`])
  }
  if (asJson) await printJson({ ...object, ...doubt })
  else if (!doubt) await print(fieldLines(fields))
}
