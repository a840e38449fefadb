import { type SQL, sql } from 'drizzle-orm'
import {
  integrations as i,
  liveSecrets,
  integrationSecrets as s,
  accessTokens as t,
} from '../../db/schema.ts'
import { LOCKS } from '../postgres/schema/locks.ts'
import { type Runner, statement } from '../postgres/statement.ts'
import { randomText, SECRET_LENGTH, sha256 } from '../random.ts'

/** Seconds (spec 2.4 and 8). */
export const TOKEN_LIFETIME = 7200

const FOREIGN_KEY_VIOLATION = '23503'

/** A new token, with Unix seconds by the database's clock; or none, and whether the client id exists. */
type Issued = { accessToken: string; createdAt: number } | { accessToken: undefined; isKnownClient: boolean }

/**
 * Issues a token if the client exists and the secret is its own. Every outcome is one statement, so that all refusals
 * take the same time. The lookup of a digest in an index is not constant-time: its duration could show how many leading
 * bytes of two digests agree. That is of no use: nobody can choose a secret by its digest, or guess 256 random bits.
 */
export async function issueToken(db: Runner, clientId: string, clientSecret: string): Promise<Issued> {
  // No client id has other characters, and Postgres refuses some of them (NUL).
  if (!/^[A-Za-z0-9]+$/.test(clientId)) return { accessToken: undefined, isKnownClient: false }
  const accessToken = randomText(SECRET_LENGTH)
  try {
    const [row] = await insertToken(db, {
      client_id: clientId,
      secret_digest: sha256(clientSecret),
      token_digest: sha256(accessToken),
      lifetime: TOKEN_LIFETIME,
    })
    if (row?.created_at) return { accessToken, createdAt: Number(row.created_at) }
    return { accessToken: undefined, isKnownClient: row?.is_known === true }
  } catch (error) {
    // A rotation deleted the secret after the statement had found it.
    if ((error as { code?: string }).code === FOREIGN_KEY_VIOLATION)
      return { accessToken: undefined, isKnownClient: true }
    throw error
  }
}

/**
 * Probes whether tokens can be written: writes an expired one, which the purge deletes. Writes nothing if no secret exists.
 * @throws the error of the database
 */
export async function tryIssuing(db: Runner): Promise<void> {
  await insertExpired(db, { token_digest: sha256(randomText(SECRET_LENGTH)) })
}

/** Records that a token and its secret were used, at most once a minute: a write takes longer than reading a page. */
export async function noteUse(db: Runner, tokenDigest: Uint8Array): Promise<void> {
  await updateLastUse(db, { token_digest: tokenDigest })
}

/** Deletes at most `limit` tokens of ended secrets; returns how many. Deletes none while another process purges. */
export async function purgeEndedTokens(db: Runner, limit: number): Promise<number> {
  const [row] = await deleteEndedTokens(db, { limit })
  return row?.count ?? 0
}

/** Deletes ended secrets with their remaining tokens; returns how many. Deletes none while another process purges. */
export async function purgeEndedSecrets(db: Runner): Promise<number> {
  const [row] = await deleteEndedSecrets(db, {})
  return row?.count ?? 0
}

/**
 * Deletes at most `limit` expired tokens, oldest first; none while another process purges.
 * @returns how many, and the last expiry: `after` of the next batch. Without `after` each batch would scan the dead index
 * entries of all batches before, and the thousandth batch would take five times as long as the first.
 */
export async function purgeExpiredTokens(db: Runner, limit: number, after = '-infinity') {
  const [row] = await deleteExpiredTokens(db, { limit, after })
  return { count: row?.count ?? 0, last: row?.last ?? after }
}

const updateLastUse = statement<{ token_digest: Uint8Array }, never>(sql`
  update ${s} set last_used_at = now()
  where ${s.id} = (select ${t.secretId} from ${t} where ${t.digest} = ${sql.placeholder('token_digest')}::bytea)
    and coalesce(${s.lastUsedAt} < now() - interval '1 minute', true)`)

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

const insertExpired = statement<{ token_digest: Uint8Array }, object>(sql`
  insert into ${t} (digest, secret_id, created_at, expires_at)
  select ${sql.placeholder('token_digest')}::bytea, ${s.id}, now(), now() from ${s} limit 1`)

/** SQL: whether this process acquired the lock of the purge, which it holds to the end of the statement. */
const lock = sql`lock as materialized (select pg_try_advisory_xact_lock(${LOCKS.purge}) as is_acquired)`

const deleteTokens = (digests: SQL) =>
  statement<{ limit: number; after?: string }, { count: number; last: string | null }>(sql`
  with ${lock}, deleted as (
    delete from ${t}
    where (select is_acquired from lock) and ${t.digest} in (${digests} limit ${sql.placeholder('limit')})
    returning ${t.expiresAt}
  )
  select count(*)::int as count, max(expires_at)::text as last from deleted`)

const deleteEndedTokens = deleteTokens(sql`
        select ${t.digest} from ${s} join ${t} on ${t.secretId} = ${s.id} where ${s.expiresAt} <= now()`)

const deleteExpiredTokens = deleteTokens(sql`
        select ${t.digest} from ${t}
        where ${t.expiresAt} <= now() and ${t.expiresAt} >= ${sql.placeholder('after')}::text::timestamptz
        order by ${t.expiresAt}`)

const deleteEndedSecrets = statement<Record<string, never>, { count: number }>(sql`
  with ${lock}, ended as materialized (
    select count(*)::int as count from ${s} where ${s.expiresAt} <= now() and (select is_acquired from lock)
  )
  select count, case when count > 0 then purge_ended_secrets() end from ended`)
