import { chmodSync, chownSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { OwnCluster } from './own-cluster.ts'
import { until } from './until.ts'
import { withConnection } from './with-connection.ts'

/** Gives a Postgres a certificate and switches TLS on. */
export async function encryptCluster(own: OwnCluster, pair: { cert: string; key: string }): Promise<void> {
  const { uid, gid } = statSync(own.dataDir)
  for (const [name, text] of Object.entries({ 'tls.crt': pair.cert, 'tls.key': pair.key })) {
    const path = join(own.dataDir, name)
    writeFileSync(path, text)
    chownSync(path, uid, gid)
    chmodSync(path, 0o600)
  }
  await withConnection(own.url(), async sql => {
    await sql`alter system set ssl_cert_file = 'tls.crt'`
    await sql`alter system set ssl_key_file = 'tls.key'`
    await sql`alter system set ssl = on`
    await sql`select pg_reload_conf()`
  })
  // Postgres applies the reloaded settings after a short time.
  const encrypted = `${own.url()}?sslmode=require`
  await until('the server encrypts', () => withConnection(encrypted, sql => sql`select 1`))
}
