import { sql } from 'drizzle-orm'
import {
  integrations as i,
  liveSecrets,
  integrationSecrets as s,
  accessTokens as t,
} from '../../db/schema.ts'
import { ClientGone } from '../database/failures.ts'
import { type Runner, statement } from '../database/statement.ts'
import { randomText, SECRET_LENGTH, sha256 } from '../random.ts'
import { type Client, invalidClient } from './credentials.ts'

/** Seconds (contract T8). */
const TOKEN_LIFETIME = 7200

/**
 * Issues a token if the client exists and the secret is its own. Every outcome is one statement, so that all refusals
 * take the same time. The lookup of a digest in an index is not constant-time: its duration could show how many leading
 * bytes of two digests agree. That is of no use: nobody can choose a secret by its digest, or guess 256 random bits.
 * @param pool deletes the token if the client has hung up, so that there is none that nobody received
 * @returns the answer of contract T7. @throws HttpError 401
 */
export async function issueToken(db: Runner, { clientId, clientSecret }: Client, pool = db) {
  // No client id has other characters, and Postgres refuses some of them (NUL).
  if (!/^[A-Za-z0-9]+$/.test(clientId)) throw invalidClient()
  const accessToken = randomText(SECRET_LENGTH)
  const token_digest = sha256(accessToken)
  const [row] = await insertToken(db, {
    client_id: clientId,
    secret_digest: sha256(clientSecret),
    token_digest,
    lifetime: TOKEN_LIFETIME,
  }).catch(async (error: { code?: string }) => {
    // The statement may have ended before it could be cancelled.
    if (error instanceof ClientGone) await deleteToken(pool, { token_digest }).catch(() => {})
    // The foreign key is violated: a rotation deleted the secret after the statement had found it.
    throw error.code === '23503' ? invalidClient({ clientId }) : error
  })
  // The log gets the client id only if it exists: anything else may be a secret in the wrong field.
  if (!row?.created_at) throw invalidClient(row?.is_known ? { clientId } : {})
  return {
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: TOKEN_LIFETIME,
    created_at: Number(row.created_at),
  }
}

/** Probes whether tokens can be written: writes an expired one, which the purge deletes after a day, if any secret exists. */
export async function tryIssuing(db: Runner): Promise<void> {
  await insertExpired(db, { token_digest: sha256(randomText(SECRET_LENGTH)) })
}

/** Records that a token and its secret were used, at most once a minute: a write takes longer than reading a page. */
export const noteUse = statement<{ token_digest: Uint8Array }, never>(sql`
  update ${s} set last_used_at = now()
  where ${s.id} = (select ${t.secretId} from ${t} where ${t.digest} = ${sql.placeholder('token_digest')}::bytea)
    and coalesce(${s.lastUsedAt} < now() - interval '1 minute', true)`)

/** Why a token that is kept is not live, and whose it is; undefined for any other. For operators alone. */
export async function endedToken(
  db: Runner,
  tokenDigest: Uint8Array,
): Promise<{ clientId: string; why: string } | undefined> {
  const [row] = await selectEnded(db, { token_digest: tokenDigest })
  return row
}

const selectEnded = statement<{ token_digest: Uint8Array }, { clientId: string; why: string }>(sql`
  select ${i.clientId} as "clientId",
    case when ${t.expiresAt} <= now() then 'the token has expired' else 'the integration is disabled' end as why
  from ${t} join ${i} on ${i.id} = ${t.integrationId}
  where ${t.digest} = ${sql.placeholder('token_digest')}::bytea
    and (${t.expiresAt} <= now() or ${i.disabledAt} is not null)`)

const insertToken = statement<Record<string, unknown>, { created_at: string | null; is_known: boolean }>(sql`
  with issued as (
  insert into ${t} (digest, secret_id, created_at, expires_at)
  select ${sql.placeholder('token_digest')}::bytea, ${liveSecrets.id}, now(), now() + make_interval(secs => ${sql.placeholder('lifetime')})
  from ${liveSecrets}
  where ${liveSecrets.clientId} = ${sql.placeholder('client_id')}
    and ${liveSecrets.digest} = ${sql.placeholder('secret_digest')}::bytea
  returning floor(extract(epoch from created_at))::bigint as created_at)
  select
    (select created_at from issued) as created_at,
    exists (select from ${i} where ${i.clientId} = ${sql.placeholder('client_id')}) as is_known`)

const deleteToken = statement<{ token_digest: Uint8Array }, never>(sql`
  delete from ${t} where ${t.digest} = ${sql.placeholder('token_digest')}::bytea`)

const insertExpired = statement<{ token_digest: Uint8Array }, object>(sql`
  insert into ${t} (digest, created_at, expires_at, secret_id)
  select ${sql.placeholder('token_digest')}::bytea, now(), now(), ${s.id} from ${s} limit 1`)
