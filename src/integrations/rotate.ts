import type { Sql, TransactionSql } from 'postgres'
import { Failure } from '../errors.ts'
import { randomText, SECRET_LENGTH, sha256 } from '../random.ts'
import type { Credentials } from './create.ts'
import { changeIntegration } from './lifecycle.ts'

/** The new credentials, and when the old secret ends: null if it has ended. */
interface Rotated extends Credentials {
  oldSecretEndsAt: string | null
}

/**
 * Replaces the secret of an integration. Without a grace the old secret and its tokens end at once (spec 5, rule 8). With
 * `graceSeconds` they end after that time: the check of a token also looks at the end of its secret. An integration has at
 * most two secrets.
 * @throws Failure for an unknown integration, and during a grace unless `force` is set
 */
export async function rotateSecret(
  db: Sql,
  clientId: string,
  { graceSeconds, force }: { graceSeconds?: number; force?: boolean },
): Promise<Rotated> {
  return await changeIntegration(db, clientId, async (sql, { id }) => {
    if (!force) await refuseDuringGrace(sql, id, graceSeconds)
    if (graceSeconds === undefined) {
      await sql`delete from integration_secrets where integration_id = ${id}`
    } else {
      await sql`delete from integration_secrets where integration_id = ${id} and expires_at is not null`
      await sql`
        update integration_secrets set expires_at = now() + make_interval(secs => ${graceSeconds})
        where integration_id = ${id}`
    }
    const [old] = await sql<{ endsAt: string }[]>`
      select to_char(expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as "endsAt"
      from integration_secrets where integration_id = ${id}`
    const clientSecret = randomText(SECRET_LENGTH)
    await sql`insert into integration_secrets (integration_id, digest) values (${id}, ${sha256(clientSecret)})`
    return { clientId, clientSecret, oldSecretEndsAt: old?.endsAt ?? null }
  })
}

async function refuseDuringGrace(sql: TransactionSql, id: string, graceSeconds: number | undefined) {
  const [inGrace] = await sql<{ endsAt: string; tokens: string }[]>`
    select
      to_char(s.expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as "endsAt",
      (select count(*) from access_tokens t where t.secret_id = s.id and t.expires_at > now()) as tokens
    from integration_secrets s
    where s.integration_id = ${id} and s.expires_at > now()`
  if (!inGrace) return
  const ending =
    graceSeconds === undefined ? 'both secrets and all their tokens' : 'that secret and its tokens'
  const tokens = `${inGrace.tokens} live ${inGrace.tokens === '1' ? 'token' : 'tokens'}`
  throw new Failure(
    `a rotation is under way: the older secret works until ${inGrace.endsAt} and has ${tokens}; ` +
      `rotating now would end ${ending} at once: wait, or repeat with --force`,
  )
}
