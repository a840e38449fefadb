import { hostname } from 'node:os'
import type { Sql, TransactionSql } from 'postgres'
import { requireFiringTriggers } from '../database/session-role.ts'
import { type CommandSql, transact } from '../database/transact.ts'
import { Failure } from '../errors.ts'

/** What operators note about an integration: its purpose and whom to contact. null where nothing is noted. */
export interface Description {
  purpose: string | null
  contact: string | null
}

/** The columns of an integration that its changes depend on; ids as decimal strings. */
export interface IntegrationRow extends Description {
  id: string
  name: string
  organizations: string[]
  products: string[]
  /** Whether the set was given as "all"; it has the ids that existed then. */
  all_organizations: boolean
  all_products: boolean
}

/** The failure of a command whose client id does not exist. */
export const unknownIntegration = (clientId: string): Failure =>
  new Failure(`there is no integration ${clientId}: axport integration list shows those there are`)

/**
 * Sets the host that the history records for this transaction: over a unix socket a server sees no address.
 * @throws Failure if the triggers that write the history would not fire
 */
export async function setHost(sql: TransactionSql): Promise<void> {
  await requireFiringTriggers(sql, 'nothing was changed')
  await sql`select set_config('axport.host', ${hostname()}, true)`
}

/** Runs `work` on an integration in one transaction, which locks its row. @throws Failure for an unknown integration */
export async function changeIntegration<Result>(
  db: CommandSql,
  clientId: string,
  work: (sql: TransactionSql, integration: IntegrationRow) => Promise<Result>,
): Promise<Result> {
  return await transact(db, async sql => {
    await setHost(sql)
    const [integration] = await sql<IntegrationRow[]>`
      select id, name, purpose, contact, organization_ids as organizations, product_ids as products,
        all_organizations, all_products
      from integrations where client_id = ${clientId} for update`
    if (!integration) throw unknownIntegration(clientId)
    return await work(sql, integration)
  })
}

/** Changes name and description of an integration; returns both as they are then. @throws Failure if there is none */
export async function describeIntegration(
  db: CommandSql,
  clientId: string,
  changed: Partial<Description & { name: string }>,
): Promise<Description & { name: string }> {
  return await changeIntegration(db, clientId, async (sql, { id, name, purpose, contact }) => {
    const description = { name, purpose, contact, ...changed }
    await sql`update integrations set ${sql(description, 'name', 'purpose', 'contact')} where id = ${id}`
    return description
  })
}

/**
 * Disables or enables an integration; returns whether that changed anything. A disabled one gets invalid_client, and its
 * tokens get invalid_token. @throws Failure for an unknown integration
 */
export async function setDisabled(db: CommandSql, clientId: string, isDisabled: boolean): Promise<boolean> {
  return await changeIntegration(db, clientId, async (sql, { id }) => {
    const { count } = await sql`
      update integrations set disabled_at = ${isDisabled ? sql`now()` : null}
      where id = ${id} and (disabled_at is null) = ${isDisabled}`
    return count > 0
  })
}

/** The name of an integration. @throws Failure for an unknown integration */
export async function nameOf(db: Sql, clientId: string): Promise<string> {
  const [row] = await db<{ name: string }[]>`select name from integrations where client_id = ${clientId}`
  if (!row) throw unknownIntegration(clientId)
  return row.name
}

/** Deletes an integration with its secrets and tokens; returns its name. @throws Failure for an unknown integration */
export async function deleteIntegration(db: CommandSql, clientId: string): Promise<string> {
  return await changeIntegration(db, clientId, async (sql, { id, name }) => {
    await sql`delete from integrations where id = ${id}`
    return name
  })
}
