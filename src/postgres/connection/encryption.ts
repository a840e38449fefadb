import { isIP } from 'node:net'
import { type ConnectionOptions, checkServerIdentity } from 'node:tls'

/** The values of sslmode, as libpq has them. */
export const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const
type SslMode = (typeof SSL_MODES)[number]

/** How connections over TCP are encrypted. A unix socket never is. */
export interface Encryption {
  mode: SslMode
  /** PEM; undefined for the authorities that Bun brings. */
  authority?: string
  /** TLS from the first byte on (sslnegotiation=direct, Postgres 17), without a question before. */
  isDirect: boolean
}

export function isSslMode(text: string): text is SslMode {
  return SSL_MODES.some(value => value === text)
}

/** Whether to encrypt, in the order of the attempts: allow and prefer have two. */
export function attemptsOf(mode: SslMode): boolean[] {
  if (mode === 'disable') return [false]
  if (mode === 'allow') return [false, true]
  return mode === 'prefer' ? [true, false] : [true]
}

/**
 * Whether a server that failed like this may take the other attempt: it offers no encryption, wants it (pg_hba.conf),
 * or cannot agree on a cipher.
 */
export function isAboutEncryption(error: unknown): boolean {
  const { code = '' } = error as { code?: string }
  return /^(NOT_ENCRYPTED|28000|ECONNRESET|EPROTO|CONNECTION_CLOSED|ERR_SSL_\w+)$/.test(code)
}

/** For node:tls. The name of the server is sent to it (SNI), so that a proxy can tell by it where to lead. */
export function tlsOptions({ mode, authority, isDirect }: Encryption, host: string): ConnectionOptions {
  const isVerified = mode.startsWith('verify-')
  return {
    ...(isIP(host) === 0 && { servername: host }),
    ...(isDirect && { ALPNProtocols: [ALPN] }),
    ...(authority !== undefined && { ca: authority }),
    rejectUnauthorized: isVerified,
    // Not left to servername, which addresses have none of.
    checkServerIdentity: (_, certificate) =>
      mode === 'verify-full' ? checkServerIdentity(host, certificate) : undefined,
  }
}

/** What a client and a server that begin with TLS agree to speak in it. */
export const ALPN = 'postgresql'
