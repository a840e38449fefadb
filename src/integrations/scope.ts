import type { TransactionSql } from 'postgres'
import type { CommandSql } from '../database/transact.ts'
import { Failure } from '../errors.ts'
import { changeIntegration, type IntegrationRow } from './lifecycle.ts'

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
  organizations: SetChange,
  products: SetChange,
): Promise<ChangedScope> {
  return await changeIntegration(db, clientId, async (sql, integration) => {
    if (organizations.add === 'new' && !integration.all_organizations && !integration.all_products)
      throw new Failure(`no set of ${clientId} was given as all: use --organizations all or --products all`)
    const changed = {
      organizations: await changedSet(sql, 'organizations', integration, organizations),
      products: await changedSet(sql, 'products', integration, products),
    }
    await sql`
      update integrations set
        organization_ids = ${changed.organizations.ids}::bigint[],
        product_ids = ${changed.products.ids}::bigint[],
        all_organizations = ${changed.organizations.meantAsAll},
        all_products = ${changed.products.meantAsAll}
      where id = ${integration.id}`
    return changed
  })
}

/** changeScope() that adds what is new to both sets. */
export const addNew = (db: CommandSql, clientId: string): Promise<ChangedScope> =>
  changeScope(db, clientId, { add: 'new' }, { add: 'new' })

async function changedSet(
  sql: TransactionSql,
  table: keyof ChangedScope,
  integration: IntegrationRow,
  { replace, add: wanted = [], remove = [] }: SetChange,
): Promise<ChangedSet> {
  const before = integration[table]
  const wasMeantAsAll = integration[`all_${table}`]
  const add = wanted === 'new' ? (wasMeantAsAll ? 'all' : []) : wanted
  const after = new Set(replace === undefined ? before : await existing(sql, table, replace))
  for (const id of await existing(sql, table, add)) after.add(id)
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
export async function existing(sql: TransactionSql, table: keyof ChangedScope, ids: Ids): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from ${sql(table)} where ${ids === 'all'} or id = any (${ids === 'all' ? [] : ids}::bigint[]) order by id`
  const found = rows.map(row => row.id)
  const unknown = ids === 'all' ? [] : ids.filter(id => !found.includes(id))
  if (unknown.length > 0) throw new Failure(`there are no ${table} with these ids: ${unknown.join(', ')}`)
  return found
}
