import type { Sql, TransactionSql } from 'postgres'
import { Failure } from '../errors.ts'
import { changeIntegration, type IntegrationRow } from './find.ts'

/** Ids as decimal strings, or everything there is at this moment. */
export type Ids = string[] | 'all'

/** What to do with one of the two sets of a scope; `replace` first, then `add`, then `remove`. */
export interface SetChange {
  replace?: Ids
  add?: Ids
  remove?: Ids
}

/** The two sets after a change, and how many ids came and went. */
export interface ChangedScope {
  organizations: ChangedSet
  products: ChangedSet
}

/** One set of a scope after a change: its ids as decimal strings, and how many came and went. */
export interface ChangedSet {
  ids: string[]
  added: number
  removed: number
  /** Whether it is meant as all: operators are told what comes to the data and is not in it. */
  meantAsAll: boolean
}

type ScopeTable = 'organizations' | 'products'

/**
 * Replaces or amends the scope of an integration. Every running service honours it with the next request.
 * @throws Failure for an unknown integration, or ids that do not exist, which it names
 */
export async function changeScope(
  db: Sql,
  clientId: string,
  organizations: SetChange,
  products: SetChange,
): Promise<ChangedScope> {
  return await changeIntegration(db, clientId, (sql, integration) =>
    applyChange(sql, integration, organizations, products),
  )
}

/**
 * Takes in what has come to the data since a set was meant as all.
 * @throws Failure for an unknown integration, or one of which neither set was meant as all
 */
export async function addNew(db: Sql, clientId: string): Promise<ChangedScope> {
  return await changeIntegration(db, clientId, async (sql, integration) => {
    const { allOrganizations, allProducts } = integration
    if (!allOrganizations && !allProducts) {
      throw new Failure(
        `neither set of ${clientId} was meant as all: axport integration scope ${clientId} --organizations all, or --products all`,
      )
    }
    const all: SetChange = { add: 'all' }
    return await applyChange(sql, integration, allOrganizations ? all : {}, allProducts ? all : {})
  })
}

async function applyChange(
  sql: TransactionSql,
  integration: IntegrationRow,
  organizations: SetChange,
  products: SetChange,
): Promise<ChangedScope> {
  const { id, organizationIds, productIds, allOrganizations, allProducts } = integration
  const changed = {
    organizations: {
      ...(await changedSet(sql, 'organizations', organizationIds, organizations)),
      meantAsAll: isMeantAsAll(allOrganizations, organizations),
    },
    products: {
      ...(await changedSet(sql, 'products', productIds, products)),
      meantAsAll: isMeantAsAll(allProducts, products),
    },
  }
  await sql`
    update integrations set
      organization_ids = ${changed.organizations.ids}::bigint[],
      product_ids = ${changed.products.ids}::bigint[],
      all_organizations = ${changed.organizations.meantAsAll},
      all_products = ${changed.products.meantAsAll}
    where id = ${id}`
  return changed
}

/** A list in place of all ends it, and so does a removal: all but some is a list. An addition does not. */
function isMeantAsAll(before: boolean, { replace, add, remove = [] }: SetChange): boolean {
  if (remove.length > 0) return false
  return add === 'all' || (replace === undefined ? before : replace === 'all')
}

async function changedSet(
  sql: TransactionSql,
  table: ScopeTable,
  before: string[],
  { replace, add, remove }: SetChange,
): Promise<Omit<ChangedSet, 'meantAsAll'>> {
  const after = new Set(replace === undefined ? before : await existing(sql, table, replace))
  for (const id of add === undefined ? [] : await existing(sql, table, add)) after.add(id)
  // What is removed need not exist any more: an organization may have left the data before the scope.
  if (remove === 'all') after.clear()
  else for (const id of remove ?? []) after.delete(id)
  const ids = [...after].sort((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1))
  return {
    ids,
    added: ids.filter(id => !before.includes(id)).length,
    removed: before.filter(id => !after.has(id)).length,
  }
}

/**
 * The ids themselves, proved to exist; every id there is for "all".
 * @throws Failure that names those that do not exist
 */
export async function existing(sql: Sql | TransactionSql, table: ScopeTable, ids: Ids): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from ${sql(table)} where ${ids === 'all'} or id = any (${ids === 'all' ? [] : ids}::bigint[]) order by id`
  const found = rows.map(row => row.id)
  const unknown = ids === 'all' ? [] : ids.filter(id => !found.includes(id))
  if (unknown.length > 0) throw new Failure(`there are no ${table} with these ids: ${unknown.join(', ')}`)
  return found
}
