import { and, count, eq, gt, isNotNull, sql } from 'drizzle-orm'
import { integrations as i, integrationSecrets as s, accessTokens as t } from '../../db/schema.ts'
import { bigints, isoOf, NOW, orm } from '../database/orm.ts'
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
  return await transact(db, async client => {
    const tx = orm(client)
    await setHost(client)
    // One statement, so that the history has one event.
    await tx.execute(sql`
      with integration as (
        insert into ${i}
          (client_id, name, purpose, contact, organization_ids, product_ids, all_organizations, all_products)
        values (
          ${clientId}, ${name}, ${purpose}, ${contact},
          ${bigints(await existing(tx, 'organizations', organizations))},
          ${bigints(await existing(tx, 'products', products))},
          ${organizations === 'all'}, ${products === 'all'}
        )
        returning id
      )
      insert into ${s} (integration_id, digest) select id, ${sha256(clientSecret)}::bytea from integration`)
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
  return await changeIntegration(db, clientId, async (tx, { id }) => {
    const ofIntegration = eq(s.integrationId, id)
    const [inGrace] = await tx
      .select({ endsAt: isoOf(s.expiresAt), tokens: count(t.digest) })
      .from(s)
      .leftJoin(t, and(eq(t.secretId, s.id), gt(t.expiresAt, NOW)))
      .where(and(ofIntegration, gt(s.expiresAt, NOW)))
      .groupBy(s.id)
    if (inGrace && !force)
      throw new Failure(
        `a rotation is under way: the older secret works until ${inGrace.endsAt} (live tokens: ${inGrace.tokens}), and rotating now would end ${isAtOnce ? 'both secrets' : 'it'} at once: wait, or repeat with --force`,
      )
    await tx.delete(s).where(and(ofIntegration, isAtOnce ? undefined : isNotNull(s.expiresAt)))
    const [old] = await tx
      .update(s)
      .set({ expiresAt: sql`now() + make_interval(secs => ${graceSeconds ?? 0})` })
      .where(ofIntegration)
      .returning({ endsAt: isoOf(s.expiresAt) })
    const clientSecret = randomText(SECRET_LENGTH)
    await tx.insert(s).values({ integrationId: id, digest: sha256(clientSecret) })
    return { clientId, clientSecret, oldSecretEndsAt: old?.endsAt ?? null }
  })
}
