import { Command } from 'commander'
import { UsageFailure } from '../../errors.ts'
import { exactJson, exactNumber } from '../../integrations/exact-ids.ts'
import { type ChangedSet, changeScope, type Ids, type SetChange } from '../../integrations/scope.ts'
import { readIds } from '../arguments.ts'
import { print } from '../output.ts'
import { withDatabase } from '../with-database.ts'

interface Options {
  organizations?: Ids
  addOrganizations?: Ids
  removeOrganizations?: Ids
  products?: Ids
  addProducts?: Ids
  removeProducts?: Ids
  json?: true
}

/** axport integration scope ID */
export function scopeCommand(): Command {
  return new Command('scope')
    .description('Replace or amend what an integration may read.')
    .argument('<id>', 'its client id')
    .option('--organizations <ids>', 'exactly these organizations, as 1,2 or all', readIds)
    .option('--add-organizations <ids>', 'these too', readIds)
    .option('--remove-organizations <ids>', 'these no longer', readIds)
    .option('--products <ids>', 'exactly these products', readIds)
    .option('--add-products <ids>', 'these too', readIds)
    .option('--remove-products <ids>', 'these no longer', readIds)
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
all means everything there is now; what is added to the data later is not in it.

Example: axport integration scope BD77VoKUovcSbaUgYJQxPiOm --add-organizations 14 --products all`,
    )
    .action(async (id: string, options: Options) => {
      const organizations = change(
        options.organizations,
        options.addOrganizations,
        options.removeOrganizations,
      )
      const products = change(options.products, options.addProducts, options.removeProducts)
      if (Object.keys(organizations).length + Object.keys(products).length === 0) {
        throw new UsageFailure('say what to change: axport integration scope --help lists the options')
      }
      const changed = await withDatabase(({ sql }) => changeScope(sql, id, organizations, products))
      if (options.json) {
        const numbers = (set: ChangedSet) => ({ ...set, ids: set.ids.map(exactNumber) })
        await print(
          `${exactJson({ organizations: numbers(changed.organizations), products: numbers(changed.products) })}\n`,
        )
        return
      }
      await print(describe('organizations', changed.organizations) + describe('products', changed.products))
    })
}

function change(replace?: Ids, add?: Ids, remove?: Ids): SetChange {
  return {
    ...(replace !== undefined && { replace }),
    ...(add !== undefined && { add }),
    ...(remove !== undefined && { remove }),
  }
}

function describe(what: string, { ids, added, removed }: ChangedSet): string {
  return `${what.padEnd(15)}${ids.length} (${added} added, ${removed} removed)\n`
}
