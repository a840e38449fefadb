import { Command, InvalidArgumentError } from 'commander'
import { UsageFailure } from '../errors.ts'
import { createIntegration } from '../integrations/create.ts'
import { print } from './output.ts'
import { withDatabase } from './with-database.ts'

/** axport integration … */
export function integrationCommand(): Command {
  return new Command('integration')
    .description('Provision the applications that may read the export.')
    .addCommand(createCommand())
}

function createCommand(): Command {
  return new Command('create')
    .description(
      'Create an integration and print its credentials, once: the secret is stored as a digest only.',
    )
    .argument('<name>', 'a name for people, as "Lakeside nightly export"')
    .option('--organizations <ids>', 'the organizations it may read, as 1,2 (left out: none)', readIds, [])
    .option(
      '--products <ids>',
      'the products (assessments that can be taken) it may read (left out: none)',
      readIds,
      [],
    )
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nExample: axport integration create "Lakeside nightly export" --organizations 12,13 --products 7',
    )
    .action(async (name: string, options: { organizations: string[]; products: string[]; json?: true }) => {
      if (name.trim() === '') throw new UsageFailure('the name of an integration must not be blank')
      const { clientId, clientSecret } = await withDatabase(({ sql }) =>
        createIntegration(sql, name.trim(), options.organizations, options.products),
      )
      await print(
        options.json
          ? `${JSON.stringify({ client_id: clientId, client_secret: clientSecret })}\n`
          : `client_id      ${clientId}\nclient_secret  ${clientSecret}\n`,
      )
      if (!options.json) process.stderr.write('Keep the secret now: it is not shown again.\n')
    })
}

/** "1,2,3" as distinct decimal strings in numeric order. */
function readIds(text: string): string[] {
  const ids = text
    .split(',')
    .map(id => id.trim())
    .filter(id => id !== '')
  const wrong = ids.find(id => !/^\d{1,18}$/.test(id))
  if (wrong !== undefined)
    throw new InvalidArgumentError(`"${wrong}" is not an id: give whole numbers, as 1,2,3.`)
  return [...new Set(ids.map(BigInt))].sort((a, b) => (a < b ? -1 : 1)).map(String)
}
