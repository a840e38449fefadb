import { hostname } from 'node:os'
import { and, eq, isNotNull, isNull, sql } from 'drizzle-orm'
import type { Sql, TransactionSql } from 'postgres'
import { integrations as i } from '../../db/schema.ts'
import { NOW, type Orm, orm } from '../database/orm.ts'
import { requireFiringTriggers } from '../database/session-role.ts'
import { type CommandSql, transact } from '../database/transact.ts'
import { Failure } from '../errors.ts'

/** What operators note about an integration: its purpose and whom to contact. null where nothing is noted. */
export interface Description {
  purpose: string | null
  contact: string | null
}

/** The columns of an integration that its changes depend on. */
const COLUMNS = {
  id: i.id,
  name: i.name,
  purpose: i.purpose,
  contact: i.contact,
  organizationIds: i.organizationIds,
  productIds: i.productIds,
  allOrganizations: i.allOrganizations,
  allProducts: i.allProducts,
}

export type IntegrationRow = Pick<typeof i.$inferSelect, keyof typeof COLUMNS>

/** The failure of a command whose client id does not exist. */
export const unknownIntegration = (clientId: string): Failure =>
  new Failure(`there is no integration ${clientId}: axport integration list shows those there are`)

/**
 * Sets the host that the history records for this transaction: over a unix socket a server sees no address.
 * @throws Failure if the triggers that write the history would not fire
 */
export async function setHost(client: TransactionSql): Promise<void> {
  await requireFiringTriggers(client, 'nothing was changed')
  await orm(client).execute(sql`select set_config('axport.host', ${hostname()}, true)`)
}

/** Runs `work` on an integration in one transaction, which locks its row. @throws Failure for an unknown integration */
export async function changeIntegration<Result>(
  db: CommandSql,
  clientId: string,
  work: (tx: Orm, integration: IntegrationRow) => Promise<Result>,
): Promise<Result> {
  return await transact(db, async client => {
    const tx = orm(client)
    await setHost(client)
    const [integration] = await tx.select(COLUMNS).from(i).where(eq(i.clientId, clientId)).for('update')
    if (!integration) throw unknownIntegration(clientId)
    return await work(tx, integration)
  })
}

/** Changes name and description of an integration; returns both as they are then. @throws Failure if there is none */
export async function describeIntegration(
  db: CommandSql,
  clientId: string,
  changed: Partial<Description & { name: string }>,
): Promise<Description & { name: string }> {
  return await changeIntegration(db, clientId, async (tx, { id, name, purpose, contact }) => {
    const description = { name, purpose, contact, ...changed }
    await tx.update(i).set(description).where(eq(i.id, id))
    return description
  })
}

/**
 * Disables or enables an integration; returns whether that changed anything. A disabled one gets invalid_client, and its
 * tokens get invalid_token. @throws Failure for an unknown integration
 */
export async function setDisabled(db: CommandSql, clientId: string, isDisabled: boolean): Promise<boolean> {
  return await changeIntegration(db, clientId, async (tx, { id }) => {
    const changed = await tx
      .update(i)
      .set({ disabledAt: isDisabled ? NOW : null })
      .where(and(eq(i.id, id), isDisabled ? isNull(i.disabledAt) : isNotNull(i.disabledAt)))
      .returning({ id: i.id })
    return changed.length > 0
  })
}

/** The name of an integration. @throws Failure for an unknown integration */
export async function nameOf(db: Sql, clientId: string): Promise<string> {
  const [row] = await orm(db).select({ name: i.name }).from(i).where(eq(i.clientId, clientId))
  if (!row) throw unknownIntegration(clientId)
  return row.name
}

/** Deletes an integration with its secrets and tokens; returns its name. @throws Failure for an unknown integration */
export async function deleteIntegration(db: CommandSql, clientId: string): Promise<string> {
  return await changeIntegration(db, clientId, async (tx, { id, name }) => {
    await tx.delete(i).where(eq(i.id, id))
    return name
  })
}
