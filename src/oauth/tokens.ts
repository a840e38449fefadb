import { and, eq, isNotNull, isNull, lt, lte, or, sql } from 'drizzle-orm'
import {
  integrations as i,
  liveSecrets as live,
  integrationSecrets as s,
  accessTokens as t,
} from '../../db/schema.ts'
import { build, NOW } from '../database/orm.ts'
import { type Runner, statement } from '../database/statement.ts'
import { randomText, SECRET_LENGTH, sha256 } from '../random.ts'
import { type ClientCredentials, invalidClient } from './client-credentials.ts'

/** Seconds (contract T8). */
const TOKEN_LIFETIME = 7200

/**
 * Issues a token if the client exists and the secret is its own. Every outcome is one statement, so that all refusals
 * take the same time. The lookup of a digest in an index is not constant-time: its duration could show how many leading
 * bytes of two digests agree. That is of no use: nobody can choose a secret by its digest, or guess 256 random bits.
 * @returns the answer of contract T7. @throws HttpError 401
 */
export async function issueToken(db: Runner, { clientId, clientSecret }: ClientCredentials) {
  // No client id has other characters, and Postgres refuses some of them (NUL).
  if (!/^[A-Za-z0-9]+$/.test(clientId)) throw invalidClient()
  const accessToken = randomText(SECRET_LENGTH)
  const [row] = await insertToken(db, {
    token: sha256(accessToken),
    client: clientId,
    secret: sha256(clientSecret),
    lifetime: TOKEN_LIFETIME,
  })
  // The log gets the client id only if it exists: anything else may be a secret in the wrong field.
  if (!row?.createdAt) throw invalidClient(row ? { clientId } : {})
  return {
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: TOKEN_LIFETIME,
    created_at: Number(row.createdAt),
  }
}

/** Probes whether tokens can be written: writes an expired one of no secret, which the purge deletes after a day. */
export async function tryIssuing(db: Runner): Promise<void> {
  await insertExpired(db, { token: sha256(randomText(SECRET_LENGTH)) })
}

const ofToken = eq(t.digest, sql.placeholder('token'))

/** Records that a token and its secret were used, at most once a minute: a write takes longer than reading a page. */
export const noteUse = statement<{ token: string }, never>(
  build
    .update(s)
    .set({ lastUsedAt: NOW })
    .where(
      and(
        eq(s.id, build.select({ id: t.secretId }).from(t).where(ofToken)),
        or(isNull(s.lastUsedAt), lt(s.lastUsedAt, sql`now() - interval '1 minute'`)),
      ),
    ),
)

/** Why a token that is kept is not live, and whose it is; undefined for any other. For operators alone. */
export async function endedToken(
  db: Runner,
  token: string,
): Promise<{ clientId: string; why: string } | undefined> {
  const [row] = await selectEnded(db, { token })
  return row
}

const selectEnded = statement<{ token: string }, { clientId: string; why: string }>(
  build
    .select({
      clientId: sql`${i.clientId}`.as('clientId'),
      why: sql`case
        when ${t.expiresAt} <= now() then 'the token has expired'
        when ${s.expiresAt} <= now() then 'its secret has ended'
        else 'the integration is disabled'
      end`.as('why'),
    })
    .from(t)
    .innerJoin(s, and(eq(s.id, t.secretId), lte(s.createdAt, t.createdAt)))
    .innerJoin(i, eq(i.id, s.integrationId))
    .where(and(ofToken, or(lte(t.expiresAt, NOW), lte(s.expiresAt, NOW), isNotNull(i.disabledAt)))),
)

/**
 * The row of a token that was issued; a row without a time for another secret of a client; no row for an unknown client.
 * Sent again, after its connection was cut, it returns the row that is there. It does not wait until the row is on the
 * disk, or on a standby: if a crash takes the token, its client gets 401 and asks for another one.
 */
const insertToken = statement<
  { token: string; client: string; secret: string; lifetime: number },
  { createdAt: string | null }
>(sql`
  with issued as (
    insert into ${t} (digest, secret_id, created_at, expires_at)
    select ${sql.placeholder('token')}::bytea, ${live.id}, greatest(now(), ${live.createdAt}), now() + make_interval(secs => ${sql.placeholder('lifetime')})
    from ${live}, set_config('synchronous_commit', 'off', true)
    where ${live.clientId} = ${sql.placeholder('client')} and ${live.digest} = ${sql.placeholder('secret')}::bytea
    on conflict (digest) do update set created_at = ${t.createdAt}
    returning floor(extract(epoch from ${t.expiresAt}) - ${sql.placeholder('lifetime')})::bigint as created_at
  )
  select created_at as "createdAt" from issued
  union all
  select null from ${i} where ${i.clientId} = ${sql.placeholder('client')} and not exists (select from issued)`)

const insertExpired = statement<{ token: string }, never>(
  build
    .insert(t)
    .values({ digest: sql.placeholder('token'), secretId: 0n, expiresAt: NOW })
    .onConflictDoNothing(),
)
