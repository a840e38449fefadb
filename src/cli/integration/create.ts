import { Command } from 'commander'
import { createIntegration } from '../../integrations/create.ts'
import type { Ids } from '../../integrations/scope.ts'
import { readIds } from '../arguments.ts'
import { withDatabase } from '../with-database.ts'
import { printCredentials } from './credentials.ts'
import { contactOption, lineOf, purposeOption } from './text.ts'

interface Options {
  organizations: Ids
  products: Ids
  purpose?: string
  contact?: string
  json?: true
}

/** axport integration create NAME */
export function createCommand(): Command {
  return new Command('create')
    .description(
      'Create an integration and print its credentials, once: the secret is stored as a digest only.',
    )
    .argument('<name>', 'a name for people, as "Lakeside nightly export"')
    .option(
      '--organizations <ids>',
      'the organizations it may read, as 1,2 or all (left out: none)',
      readIds,
      [],
    )
    .option('--products <ids>', 'the products (assessments that can be taken) it may read', readIds, [])
    .addOption(purposeOption())
    .addOption(contactOption())
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
A purpose and a contact answer why it may read what it reads. axport disclosures shows the purpose
with what the integration was shown.

Example: axport integration create "Lakeside HR" --organizations 12,13 --products all --purpose HR`,
    )
    .action(async (name: string, options: Options) => {
      const line = lineOf('name', name)
      const description = { purpose: options.purpose ?? null, contact: options.contact ?? null }
      const credentials = await withDatabase(({ sql }) =>
        createIntegration(sql, line, options.organizations, options.products, description),
      )
      await printCredentials(credentials, options.json)
    })
}
