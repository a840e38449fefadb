import { Command } from 'commander'
import { UsageFailure } from '../../errors.ts'
import { createIntegration } from '../../integrations/create.ts'
import type { Ids } from '../../integrations/scope.ts'
import { readIds } from '../arguments.ts'
import { withDatabase } from '../with-database.ts'
import { printCredentials } from './credentials.ts'

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
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nExample: axport integration create "Lakeside nightly export" --organizations 12,13 --products all',
    )
    .action(async (name: string, options: { organizations: Ids; products: Ids; json?: true }) => {
      requireName(name.trim())
      const credentials = await withDatabase(({ sql }) =>
        createIntegration(sql, name.trim(), options.organizations, options.products),
      )
      await printCredentials(credentials, options.json)
    })
}

function requireName(name: string): void {
  if (name === '') throw new UsageFailure('the name of an integration must not be blank')
  if ([...name].length > 500)
    throw new UsageFailure('the name of an integration may have 500 characters at most')
  // A line break or an escape sequence would spoil every list that shows it.
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(name))
    throw new UsageFailure('the name of an integration must not have line breaks or control characters')
}
