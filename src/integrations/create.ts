import type { Sql } from 'postgres'
import { randomText, SECRET_LENGTH, sha256 } from '../random.ts'
import { type Description, setHost } from './lifecycle.ts'
import { existing, type Ids } from './scope.ts'

/** Unique, and need not be unguessable: a client id is public. */
const CLIENT_ID_LENGTH = 24

/** The credentials of an integration. The secret is stored nowhere and cannot be shown again. */
export interface Credentials {
  clientId: string
  clientSecret: string
}

/**
 * Provisions an integration. A set of its scope may be empty (the API then answers its 400, spec 5 rule 9).
 * @throws Failure that names ids that do not exist
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
    await setHost(sql)
    // One statement, so that the history has one event.
    await sql`
      with integration as (
        insert into integrations
          (client_id, name, purpose, contact, organization_ids, product_ids, all_organizations, all_products)
        values (
          ${clientId}, ${name}, ${purpose}, ${contact},
          ${await existing(sql, 'organizations', organizations)}::bigint[],
          ${await existing(sql, 'products', products)}::bigint[],
          ${organizations === 'all'}, ${products === 'all'}
        )
        returning id
      )
      insert into integration_secrets (integration_id, digest)
      select id, ${sha256(clientSecret)}::bytea from integration`
  })
  return { clientId, clientSecret }
}
