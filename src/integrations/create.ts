import { sql } from 'drizzle-orm'
import type { Sql } from 'postgres'
import { integrations as i, integrationSecrets as s } from '../../db/schema.ts'
import { Failure } from '../errors.ts'
import { statement } from '../postgres/statement.ts'
import { randomText, SECRET_LENGTH, sha256 } from '../random.ts'

/** Long enough that no two are ever alike; it is public and need not be unguessable. */
const CLIENT_ID_LENGTH = 24

/** A new integration; its secret is nowhere else and never shown again. */
export interface NewIntegration {
  clientId: string
  clientSecret: string
}

/**
 * Provisions an integration. Ids are decimal strings; an empty set is allowed (the API then answers its
 * 400, spec 5 rule 9).
 * @throws Failure for ids that do not exist, which it names
 */
export async function createIntegration(
  db: Sql,
  name: string,
  organizationIds: string[],
  productIds: string[],
): Promise<NewIntegration> {
  await requireExisting(db, 'organizations', organizationIds)
  await requireExisting(db, 'products', productIds)
  const clientId = randomText(CLIENT_ID_LENGTH)
  const clientSecret = randomText(SECRET_LENGTH)
  await insertIntegration(db, {
    client_id: clientId,
    name,
    organizations: organizationIds,
    products: productIds,
    digest: sha256(clientSecret),
  })
  return { clientId, clientSecret }
}

const insertIntegration = statement<Record<string, unknown>, never>(sql`
  with integration as (
    insert into ${i} (client_id, name, organization_ids, product_ids)
    values (
      ${sql.placeholder('client_id')},
      ${sql.placeholder('name')},
      ${sql.placeholder('organizations')}::bigint[],
      ${sql.placeholder('products')}::bigint[]
    )
    returning id
  )
  insert into ${s} (integration_id, digest)
  select id, ${sql.placeholder('digest')}::bytea from integration`)

async function requireExisting(db: Sql, table: 'organizations' | 'products', ids: string[]): Promise<void> {
  const unknown = await db<{ id: string }[]>`
    select id from unnest(${ids}::bigint[]) as given (id)
    where not exists (select from ${db(table)} known where known.id = given.id)
    order by id`
  if (unknown.length > 0) {
    throw new Failure(`there are no ${table} with these ids: ${unknown.map(row => row.id).join(', ')}`)
  }
}
