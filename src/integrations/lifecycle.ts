import { eq, sql } from 'drizzle-orm'
import type { Sql } from 'postgres'
import { integrations as i } from '../../db/schema.ts'
import { isoOf, NOW, type Orm, orm } from '../database/orm.ts'
import type { CommandSql } from '../database/transact.ts'
import { Failure } from '../errors.ts'
import { type IntegrationState, note, transactNoted } from './history.ts'

/** What operators note about an integration: its purpose and whom to contact. null where nothing is noted. */
export interface Description {
  purpose: string | null
  contact: string | null
}

/** The columns of an integration that its changes depend on. */
const COLUMNS = {
  id: i.id,
  clientId: i.clientId,
  name: i.name,
  purpose: i.purpose,
  contact: i.contact,
  organizationIds: i.organizationIds,
  productIds: i.productIds,
  allOrganizations: i.allOrganizations,
  allProducts: i.allProducts,
  /** ISO 8601 in UTC. */
  disabledAt: sql<string | null>`${isoOf(i.disabledAt)}`,
}

/** A row of an integration, and its state before a change. */
type IntegrationRow = IntegrationState & { id: bigint }

/** The failure of a command whose client id does not exist. */
export const unknownIntegration = (clientId: string): Failure =>
  new Failure(`there is no integration ${clientId}: axport integration list shows those there are`)

/** Runs `work` on an integration in one transaction, which locks its row. @throws Failure for an unknown integration */
export async function changeIntegration<Result>(
  db: CommandSql,
  clientId: string,
  work: (tx: Orm, integration: IntegrationRow) => Promise<Result>,
): Promise<Result> {
  return await transactNoted(db, async tx => {
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
  return await changeIntegration(db, clientId, async (tx, before) => {
    const { name, purpose, contact } = before
    const description = { name, purpose, contact, ...changed }
    await tx.update(i).set(description).where(eq(i.id, before.id))
    await note(tx, 'described', before, { ...before, ...description })
    return description
  })
}

/**
 * Disables or enables an integration; returns whether that changed anything. A disabled one gets invalid_client, and its
 * tokens get invalid_token. @throws Failure for an unknown integration
 */
export async function setDisabled(db: CommandSql, clientId: string, isDisabled: boolean): Promise<boolean> {
  return await changeIntegration(db, clientId, async (tx, before) => {
    if ((before.disabledAt !== null) === isDisabled) return false
    const [changed] = await tx
      .update(i)
      .set({ disabledAt: isDisabled ? NOW : null })
      .where(eq(i.id, before.id))
      .returning({ disabledAt: COLUMNS.disabledAt })
    await note(tx, isDisabled ? 'disabled' : 'enabled', before, { ...before, ...changed })
    return true
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
  return await changeIntegration(db, clientId, async (tx, before) => {
    await tx.delete(i).where(eq(i.id, before.id))
    await note(tx, 'deleted', before, undefined)
    return before.name
  })
}
