import { isIP } from 'node:net'
import { type ConnectionOptions, checkServerIdentity } from 'node:tls'

/** The values of sslmode in libpq: whether to encrypt, in the order of the attempts. */
export const SSL_MODES = {
  disable: [false],
  allow: [false, true],
  prefer: [true, false],
  require: [true],
  'verify-ca': [true],
  'verify-full': [true],
}
type SslMode = keyof typeof SSL_MODES

/** How TCP connections are encrypted. Unix sockets never are. */
export interface Encryption {
  mode: SslMode
  /** Certificates of the authority, PEM; undefined for those that Bun trusts. */
  authority?: string
  /** TLS from the first byte, without an SSLRequest (sslnegotiation=direct, Postgres 17). */
  isDirect: boolean
}

/** Whether the other attempt may succeed: no TLS offered, TLS required (pg_hba.conf), or no common cipher. */
export function isAboutEncryption(error: unknown): boolean {
  const { code = '' } = error as { code?: string }
  return /^(NOT_ENCRYPTED|28000|ECONNRESET|EPROTO|CONNECTION_CLOSED|ERR_SSL_\w+)$/.test(code)
}

/** Options for node:tls. The host name is sent (SNI), so that a proxy can route by it. */
export function tlsOptions({ mode, authority, isDirect }: Encryption, host: string): ConnectionOptions {
  return {
    ...(isIP(host) === 0 && { servername: host }),
    ...(isDirect && { ALPNProtocols: [ALPN] }),
    ...(authority !== undefined && { ca: authority }),
    rejectUnauthorized: mode.startsWith('verify-'),
    // By `host`, because servername is missing for an IP address.
    checkServerIdentity: (_, certificate) =>
      mode === 'verify-full' ? checkServerIdentity(host, certificate) : undefined,
  }
}

/** The protocol name that direct TLS negotiates. */
export const ALPN = 'postgresql'
