import type { Sql, TransactionSql } from 'postgres'
import { Failure } from '../errors.ts'
import { nameHost } from './host.ts'

/** The parts of an integration's row that its changes depend on; ids as decimal strings. */
export interface IntegrationRow {
  id: string
  name: string
  purpose: string | null
  contact: string | null
  organizationIds: string[]
  productIds: string[]
  /** The set was meant as all: what there was when it was set. */
  allOrganizations: boolean
  allProducts: boolean
  disabledAt: string | null
}

/**
 * Finds an integration by its client id and keeps others from changing it until the transaction ends.
 * @throws Failure when there is none
 */
async function lockIntegration(sql: TransactionSql, clientId: string): Promise<IntegrationRow> {
  const [row] = await sql<IntegrationRow[]>`
    select
      id,
      name,
      purpose,
      contact,
      organization_ids as "organizationIds",
      product_ids as "productIds",
      all_organizations as "allOrganizations",
      all_products as "allProducts",
      disabled_at::text as "disabledAt"
    from integrations
    where client_id = ${clientId}
    for update`
  if (!row) throw unknownIntegration(clientId)
  return row
}

/** The failure of a command that names an integration there is none of. */
export function unknownIntegration(clientId: string): Failure {
  return new Failure(`there is no integration ${clientId}: axport integration list shows those there are`)
}

/** Runs `work` on a locked integration in one transaction, which the history of integrations knows by its host. */
export async function changeIntegration<Result>(
  db: Sql,
  clientId: string,
  work: (sql: TransactionSql, integration: IntegrationRow) => Promise<Result>,
): Promise<Result> {
  const result = await db.begin(async sql => {
    await nameHost(sql)
    return [await work(sql, await lockIntegration(sql, clientId))] as const
  })
  return result[0]
}
