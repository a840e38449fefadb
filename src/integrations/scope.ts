import { eq, sql } from 'drizzle-orm'
import { integrations as i, organizations, products } from '../../db/schema.ts'
import { bigints, type Orm } from '../database/orm.ts'
import type { CommandSql } from '../database/transact.ts'
import { Failure } from '../errors.ts'
import { note } from './history.ts'
import { changeIntegration } from './lifecycle.ts'

/** Ids as decimal strings, or all that exist at this moment. */
export type Ids = string[] | 'all'

/** First `replace`, then `add`, then `remove`. "new" is what a set given as "all" lacks, and nothing for another set. */
export interface SetChange {
  replace?: Ids
  add?: Ids | 'new'
  remove?: Ids
}

/** The two sets of a scope after a change. */
export type ChangedScope = Record<'organizations' | 'products', ChangedSet>

/** One set of a scope after a change: its ids as decimal strings, and how many were added and removed. */
interface ChangedSet {
  ids: string[]
  added: number
  removed: number
  /** The set was given as "all". Operators are told which members of the data it lacks. */
  meantAsAll: boolean
}

/** Changes a scope, for the next request. @throws Failure for an unknown client or id, and "new" if no set was "all" */
export async function changeScope(
  db: CommandSql,
  clientId: string,
  ofOrganizations: SetChange,
  ofProducts: SetChange,
): Promise<ChangedScope> {
  return await changeIntegration(db, clientId, async (tx, before) => {
    const { organizationIds, productIds, allOrganizations, allProducts } = before
    if (ofOrganizations.add === 'new' && !allOrganizations && !allProducts)
      throw new Failure(`no set of ${clientId} was given as all: use --organizations all or --products all`)
    const changed = {
      organizations: await changedSet(
        tx,
        'organizations',
        organizationIds,
        allOrganizations,
        ofOrganizations,
      ),
      products: await changedSet(tx, 'products', productIds, allProducts, ofProducts),
    }
    const scope = {
      organizationIds: changed.organizations.ids,
      productIds: changed.products.ids,
      allOrganizations: changed.organizations.meantAsAll,
      allProducts: changed.products.meantAsAll,
    }
    await tx.update(i).set(scope).where(eq(i.id, before.id))
    await note(tx, 'scope', before, { ...before, ...scope })
    return changed
  })
}

/** changeScope() that adds what is new to both sets. */
export const addNew = (db: CommandSql, clientId: string): Promise<ChangedScope> =>
  changeScope(db, clientId, { add: 'new' }, { add: 'new' })

async function changedSet(
  tx: Orm,
  table: keyof ChangedScope,
  before: string[],
  wasMeantAsAll: boolean,
  { replace, add: wanted = [], remove = [] }: SetChange,
): Promise<ChangedSet> {
  const add = wanted === 'new' ? (wasMeantAsAll ? 'all' : []) : wanted
  const after = new Set(replace === undefined ? before : await existing(tx, table, replace))
  for (const id of await existing(tx, table, add)) after.add(id)
  // An id to remove need not exist: an organization may have left the data before the scope.
  for (const id of remove === 'all' ? [...after] : remove) after.delete(id)
  const ids = [...after].sort((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1))
  // "All" ends with a list in its place and with a removal, and stays with an addition.
  const isMeantAsAll = add === 'all' || (replace === undefined ? wasMeantAsAll : replace === 'all')
  return {
    ids,
    added: ids.filter(id => !before.includes(id)).length,
    removed: before.filter(id => !after.has(id)).length,
    meantAsAll: isMeantAsAll && remove.length === 0,
  }
}

/** These ids, or all ids of the table. @throws Failure that names ids that do not exist */
export async function existing(tx: Orm, name: keyof ChangedScope, ids: Ids): Promise<string[]> {
  const table = { organizations, products }[name]
  const wanted = ids === 'all' ? undefined : sql`${table.id} = any (${bigints(ids)})`
  const rows = await tx.select({ id: table.id }).from(table).where(wanted).orderBy(table.id)
  const found = rows.map(row => row.id)
  const unknown = ids === 'all' ? [] : ids.filter(id => !found.includes(id))
  if (unknown.length > 0) throw new Failure(`there are no ${name} with these ids: ${unknown.join(', ')}`)
  return found
}
