import { sql } from 'drizzle-orm'
import type { Sql } from 'postgres'
import { integrations as i, integrationSecrets as s } from '../../db/schema.ts'
import { statement } from '../postgres/statement.ts'
import { randomText, SECRET_LENGTH, sha256 } from '../random.ts'
import type { Description } from './describe.ts'
import { nameHost } from './host.ts'
import { existing, type Ids } from './scope.ts'

/** Long enough that no two are ever alike; it is public and need not be unguessable. */
const CLIENT_ID_LENGTH = 24

/** Credentials as they are handed to an integration; the secret is nowhere else and never shown again. */
export interface Credentials {
  clientId: string
  clientSecret: string
}

/**
 * Provisions an integration. An empty set is allowed (the API then answers its 400, spec 5 rule 9).
 * @throws Failure for ids that do not exist, which it names
 */
export async function createIntegration(
  db: Sql,
  name: string,
  organizations: Ids,
  products: Ids,
  { purpose, contact }: Description = { purpose: null, contact: null },
): Promise<Credentials> {
  const clientId = randomText(CLIENT_ID_LENGTH)
  const clientSecret = randomText(SECRET_LENGTH)
  await db.begin(async sql => {
    await nameHost(sql)
    await insertIntegration(sql, {
      client_id: clientId,
      name,
      purpose,
      contact,
      organizations: await existing(sql, 'organizations', organizations),
      products: await existing(sql, 'products', products),
      all_organizations: organizations === 'all',
      all_products: products === 'all',
      digest: sha256(clientSecret),
    })
  })
  return { clientId, clientSecret }
}

const insertIntegration = statement<Record<string, unknown>, never>(sql`
  with integration as (
    insert into ${i} (client_id, name, purpose, contact, organization_ids, product_ids, all_organizations, all_products)
    values (
      ${sql.placeholder('client_id')},
      ${sql.placeholder('name')},
      ${sql.placeholder('purpose')},
      ${sql.placeholder('contact')},
      ${sql.placeholder('organizations')}::bigint[],
      ${sql.placeholder('products')}::bigint[],
      ${sql.placeholder('all_organizations')}::boolean,
      ${sql.placeholder('all_products')}::boolean
    )
    returning id
  )
  insert into ${s} (integration_id, digest)
  select id, ${sql.placeholder('digest')}::bytea from integration`)
