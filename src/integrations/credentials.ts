import { iso } from '../database/statement.ts'
import { type CommandSql, transact } from '../database/transact.ts'
import { Failure } from '../errors.ts'
import { randomText, SECRET_LENGTH, sha256 } from '../random.ts'
import { changeIntegration, type Description, setHost } from './lifecycle.ts'
import { existing, type Ids } from './scope.ts'

/** The credentials of an integration. The secret is stored nowhere and cannot be shown again. */
export interface Credentials {
  clientId: string
  clientSecret: string
}

/** Provisions an integration; a set of its scope may be empty (contract A4). @throws Failure that names unknown ids */
export async function createIntegration(
  db: CommandSql,
  name: string,
  organizations: Ids,
  products: Ids,
  { purpose, contact }: Description = { purpose: null, contact: null },
): Promise<Credentials> {
  // Unique, and need not be unguessable: a client id is public.
  const clientId = randomText(24)
  const clientSecret = randomText(SECRET_LENGTH)
  return await transact(db, async sql => {
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
    return { clientId, clientSecret }
  })
}

/**
 * Replaces the secret of an integration, which has at most two. The old one and its tokens end after `graceSeconds`, or at
 * once (contract T9): `oldSecretEndsAt` is null then.
 * @throws Failure for an unknown integration, and during a grace unless `force` is set
 */
export async function rotateSecret(
  db: CommandSql,
  clientId: string,
  { graceSeconds, force }: { graceSeconds?: number; force?: boolean },
): Promise<Credentials & { oldSecretEndsAt: string | null }> {
  const isAtOnce = graceSeconds === undefined
  return await changeIntegration(db, clientId, async (sql, { id }) => {
    const [inGrace] = await sql<{ endsAt: string; tokens: string }[]>`
      select ${iso(sql, sql`s.expires_at`)} as "endsAt",
        (select count(*) from access_tokens t where t.secret_id = s.id and t.expires_at > now()) as tokens
      from integration_secrets s
      where s.integration_id = ${id} and s.expires_at > now()`
    if (inGrace && !force)
      throw new Failure(
        `a rotation is under way: the older secret works until ${inGrace.endsAt} (live tokens: ${inGrace.tokens}), and rotating now would end ${isAtOnce ? 'both secrets' : 'it'} at once: wait, or repeat with --force`,
      )
    await sql`
      delete from integration_secrets where integration_id = ${id} and (${isAtOnce} or expires_at is not null)`
    const [old] = await sql<{ endsAt: string }[]>`
      update integration_secrets set expires_at = now() + make_interval(secs => ${graceSeconds ?? 0})
      where integration_id = ${id} returning ${iso(sql, sql`expires_at`)} as "endsAt"`
    const clientSecret = randomText(SECRET_LENGTH)
    await sql`insert into integration_secrets (integration_id, digest) values (${id}, ${sha256(clientSecret)})`
    return { clientId, clientSecret, oldSecretEndsAt: old?.endsAt ?? null }
  })
}
