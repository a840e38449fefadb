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

/** Spec 2.4 and 8: seconds. */
export const TOKEN_LIFETIME = 7200

const FOREIGN_KEY_VIOLATION = '23503'

/** What became of a request for a token: one, made at `createdAt` (Unix seconds, by the database's clock), or none. */
type Issued = { accessToken: string; createdAt: number } | { accessToken: undefined; isKnownClient: boolean }

/**
 * Issues a token to a client, or none when there is no such client with such a secret. One statement for every
 * outcome: all refusals cost the same. The secret is looked up by its digest, in an index and not in constant time, as
 * a token is: that could tell how far two digests agree, and nobody can choose a secret for its digest, nor guess the
 * 256 random bits behind one.
 */
export async function issueToken(db: Runner, clientId: string, clientSecret: string): Promise<Issued> {
  // No client id of ours looks otherwise, and Postgres refuses some of what else could stand here (NUL).
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
    // The secret was found, and gone with a rotation before the token could refer to it.
    if ((error as { code?: string }).code === FOREIGN_KEY_VIOLATION)
      return { accessToken: undefined, isKnownClient: true }
    throw error
  }
}

/**
 * Writes what a token takes, expired from the beginning, for the purge to remove; nothing where there is no secret.
 * @throws the error of the database that a token would meet
 */
export async function tryIssuing(db: Runner): Promise<void> {
  await insertExpired(db, { token_digest: sha256(randomText(SECRET_LENGTH)) })
}

/** Notes the use of a token and of its secret, at most once a minute: a write takes longer than a page. */
export async function noteUse(db: Runner, tokenDigest: Uint8Array): Promise<void> {
  await updateLastUse(db, { token_digest: tokenDigest })
}

/** Deletes at most `limit` tokens of secrets past their grace, and returns how many; none while another process does. */
export async function purgeEndedTokens(db: Runner, limit: number): Promise<number> {
  const [row] = await deleteEndedTokens(db, { limit })
  return row?.count ?? 0
}

/** Deletes secrets past their grace, with what is left of their tokens, and returns how many; turns as above. */
export async function purgeEndedSecrets(db: Runner): Promise<number> {
  const [row] = await deleteEndedSecrets(db, {})
  return row?.count ?? 0
}

/**
 * Deletes at most `limit` expired tokens, the oldest first; none while another process is at it. Returns how many, and
 * until when they were good, which is `after` of the next batch: without it each batch would walk past the remains
 * of all before it, and the thousandth of a long purge take five times as long as the first.
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

/** Whether it is this process's turn, until the end of the statement. */
const turn = sql`turn as materialized (select pg_try_advisory_xact_lock(${LOCKS.purge}) as is_ours)`

const deleteTokens = (digests: SQL) =>
  statement<{ limit: number; after?: string }, { count: number; last: string | null }>(sql`
  with ${turn}, deleted as (
    delete from ${t}
    where (select is_ours from turn) and ${t.digest} in (${digests} limit ${sql.placeholder('limit')})
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
  with ${turn}, ended as materialized (
    select count(*)::int as count from ${s} where ${s.expiresAt} <= now() and (select is_ours from turn)
  )
  select count, case when count > 0 then purge_ended_secrets() end from ended`)
