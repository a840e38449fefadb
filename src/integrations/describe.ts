import type { Sql } from 'postgres'
import { changeIntegration } from './find.ts'

/** What operators say of an integration: what it is for, and whom to ask. null where nothing is said. */
export interface Description {
  purpose: string | null
  contact: string | null
}

/**
 * Changes what is said of an integration, and nothing of what it may read; returns what is said then.
 * @throws Failure for an unknown integration
 */
export async function describeIntegration(
  db: Sql,
  clientId: string,
  changed: Partial<Description & { name: string }>,
): Promise<Description & { name: string }> {
  return await changeIntegration(db, clientId, async (sql, { id, name, purpose, contact }) => {
    const description = { name, purpose, contact, ...changed }
    await sql`update integrations set ${sql(description, 'name', 'purpose', 'contact')} where id = ${id}`
    return description
  })
}
