import { and, count, eq, gt, isNotNull, isNull, sql } from 'drizzle-orm'
import { integrations as i, integrationSecrets as s, accessTokens as t } from '../../db/schema.ts'
import { isoOf, NOW, type Orm } from '../database/orm.ts'
import { onlyRow } from '../database/statement.ts'
import type { CommandSql } from '../database/transact.ts'
import { Failure } from '../errors.ts'
import { randomText, SECRET_LENGTH, sha256 } from '../random.ts'
import { changedIds, changedValue, note, transactNoted } from './history.ts'
import { changeIntegration, type Description } from './lifecycle.ts'
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
  return await transactNoted(db, async tx => {
    const scope = {
      organizationIds: await existing(tx, 'organizations', organizations),
      productIds: await existing(tx, 'products', products),
      allOrganizations: organizations === 'all',
      allProducts: products === 'all',
    }
    const integration = { clientId, name, purpose, contact, ...scope }
    const { id } = onlyRow(await tx.insert(i).values(integration).returning({ id: i.id }))
    const secret = await addSecret(tx, id, clientSecret)
    const secrets = changedIds('secrets', [], [secret])
    await note(tx, 'created', undefined, { ...integration, disabledAt: null }, secrets)
    return { clientId, clientSecret }
  })
}

/** The result of a rotation. */
export interface Rotated extends Credentials {
  /** null if the old secret has ended at once. */
  oldSecretExpiresAt: string | null
  /** The secrets before it. */
  before: (typeof s.$inferSelect)[]
}

/**
 * Replaces the secret of an integration, which has at most two. The old one and its tokens end after `graceSeconds`, or at
 * once (contract T9).
 * @throws Failure for an unknown integration, and during a grace unless `force` is set
 */
export async function rotateSecret(
  db: CommandSql,
  clientId: string,
  { graceSeconds, force }: { graceSeconds?: number; force?: boolean },
): Promise<Rotated> {
  const isAtOnce = graceSeconds === undefined
  return await changeIntegration(db, clientId, async (tx, integration) => {
    const ofIntegration = eq(s.integrationId, integration.id)
    const [inGrace] = await tx
      .select({ expiresAt: isoOf(s.expiresAt), tokens: count(t.digest) })
      .from(s)
      .leftJoin(t, and(eq(t.secretId, s.id), gt(t.expiresAt, NOW)))
      .where(and(ofIntegration, gt(s.expiresAt, NOW)))
      .groupBy(s.id)
    if (inGrace && !force)
      throw new Failure(
        `a rotation is under way: the older secret works until ${inGrace.expiresAt} (live tokens: ${inGrace.tokens}), and rotating now would end ${isAtOnce ? 'both secrets' : 'it'} at once: wait, or repeat with --force`,
      )
    const before = await tx.select().from(s).where(ofIntegration)
    const removed = await tx
      .delete(s)
      .where(and(ofIntegration, isAtOnce ? undefined : isNotNull(s.expiresAt)))
      .returning({ id: s.id })
    const [old] = await tx
      .update(s)
      .set({ expiresAt: sql`now() + make_interval(secs => ${graceSeconds ?? 0})` })
      .where(ofIntegration)
      .returning({ expiresAt: isoOf(s.expiresAt) })
    const clientSecret = randomText(SECRET_LENGTH)
    const secret = await addSecret(tx, integration.id, clientSecret)
    await note(tx, 'rotated', integration, integration, {
      ...changedIds(
        'secrets',
        removed.map(({ id }) => String(id)),
        [secret],
      ),
      ...changedValue('old_secret_expires_at', null, old?.expiresAt),
    })
    return { clientId, clientSecret, oldSecretExpiresAt: old?.expiresAt ?? null, before }
  })
}

/**
 * Undoes a rotation whose secret reached nobody: the secrets of before and their tokens are valid again.
 * @throws Failure if the integration was deleted or rotated since
 */
export async function undoRotation(
  db: CommandSql,
  { clientId, clientSecret, oldSecretExpiresAt, before }: Rotated,
): Promise<void> {
  await changeIntegration(db, clientId, async (tx, integration) => {
    const ofIntegration = eq(s.integrationId, integration.id)
    const isNewest = and(eq(s.digest, sha256(clientSecret)), isNull(s.expiresAt))
    const [removed] = await tx.delete(s).where(and(ofIntegration, isNewest)).returning({ id: s.id })
    if (!removed) throw new Failure(`the secret of ${clientId} was replaced again meanwhile`)
    const others = await tx.delete(s).where(ofIntegration).returning({ id: s.id })
    if (before.length > 0) await tx.insert(s).overridingSystemValue().values(before)
    const idsOf = (secrets: { id: bigint }[]) => secrets.map(({ id }) => String(id))
    await note(tx, 'undone', integration, integration, {
      ...changedIds('secrets', idsOf([removed, ...others]), idsOf(before)),
      ...changedValue('old_secret_expires_at', oldSecretExpiresAt, null),
    })
  })
}

/** @returns the id of the secret, decimal */
async function addSecret(tx: Orm, integrationId: bigint, secret: string): Promise<string> {
  const values = { integrationId, digest: sha256(secret) }
  return String(onlyRow(await tx.insert(s).values(values).returning({ id: s.id })).id)
}
