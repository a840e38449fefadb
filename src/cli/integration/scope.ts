import { Command } from 'commander'
import { UsageFailure } from '../../errors.ts'
import { exactJson, exactNumber } from '../../integrations/exact-ids.ts'
import {
  addNew,
  type ChangedScope,
  type ChangedSet,
  changeScope,
  type Ids,
  type SetChange,
} from '../../integrations/scope.ts'
import { readIds } from '../arguments.ts'
import { print } from '../output.ts'
import { changing, waitOption } from './standbys.ts'

interface Options {
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
    .option('--add-new', 'what has come to the data since a set was meant as all')
    .addOption(waitOption())
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
all means everything there is now. What is added to the data later is not in it, until --add-new;
axport integration show and axport doctor say what has come.

Example: axport integration scope BD77VoKUovcSbaUgYJQxPiOm --add-organizations 14 --products all`,
    )
    .action(async (id: string, options: Options) => {
      const organizations = change(
        options.organizations,
        options.addOrganizations,
        options.removeOrganizations,
      )
      const products = change(options.products, options.addProducts, options.removeProducts)
      const isChanged = Object.keys(organizations).length + Object.keys(products).length > 0
      if (isChanged && options.addNew) throw new UsageFailure('--add-new goes with no other change')
      if (!isChanged && !options.addNew) {
        throw new UsageFailure('say what to change: axport integration scope --help lists the options')
      }
      await changing(
        options.wait,
        sql => (options.addNew ? addNew(sql, id) : changeScope(sql, id, organizations, products)),
        changed => print(options.json ? asJson(changed) : asText(changed)),
      )
    })
}

function asJson({ organizations, products }: ChangedScope): string {
  const numbers = ({ ids, added, removed, meantAsAll }: ChangedSet) => ({
    ...{ ids: ids.map(exactNumber), added, removed },
    meant_as_all: meantAsAll,
  })
  return `${exactJson({ organizations: numbers(organizations), products: numbers(products) })}\n`
}

const asText = ({ organizations, products }: ChangedScope) =>
  describe('organizations', organizations) + describe('products', products)

function change(replace?: Ids, add?: Ids, remove?: Ids): SetChange {
  return {
    ...(replace !== undefined && { replace }),
    ...(add !== undefined && { add }),
    ...(remove !== undefined && { remove }),
  }
}

function describe(what: string, { ids, added, removed, meantAsAll }: ChangedSet): string {
  const meaning = meantAsAll ? ', meant as all' : ''
  return `${what.padEnd(15)}${ids.length} (${added} added, ${removed} removed)${meaning}\n`
}
