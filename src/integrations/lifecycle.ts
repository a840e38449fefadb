import type { Sql } from 'postgres'
import { changeIntegration, unknownIntegration } from './find.ts'

/**
 * Disables or enables an integration; returns whether that changed anything. A disabled one gets
 * invalid_client and its tokens invalid_token with the next request; its secrets and scope stay. Its tokens
 * work again when it is enabled before they expire.
 * @throws Failure for an unknown integration
 */
export async function setDisabled(db: Sql, clientId: string, isDisabled: boolean): Promise<boolean> {
  return await changeIntegration(db, clientId, async (sql, { id, disabledAt }) => {
    if ((disabledAt !== null) === isDisabled) return false
    await sql`update integrations set disabled_at = ${isDisabled ? sql`now()` : null} where id = ${id}`
    return true
  })
}

/**
 * The name of an integration.
 * @throws Failure for an unknown integration
 */
export async function nameOf(db: Sql, clientId: string): Promise<string> {
  const [row] = await db<{ name: string }[]>`select name from integrations where client_id = ${clientId}`
  if (!row) throw unknownIntegration(clientId)
  return row.name
}

/**
 * Deletes an integration with its secrets and tokens; returns its name.
 * @throws Failure for an unknown integration
 */
export async function deleteIntegration(db: Sql, clientId: string): Promise<string> {
  return await changeIntegration(db, clientId, async (sql, { id, name }) => {
    await sql`delete from integrations where id = ${id}`
    return name
  })
}
