import { type Environment, setting } from '../config.ts'
import { Failure } from '../errors.ts'
import { type AdminServer, type AdminView, startAdminServer } from '../http/admin/server.ts'
import type { Limits } from '../http/endpoint.ts'
import { type Certificate, readCertificate } from '../http/tls.ts'
import type { PoolBounds } from '../postgres/pool/connection-pool.ts'

/** For the parts of an answer that do not wait for the database. */
const MARGIN_MS = 3000

/** The limits of `serve`. @throws Failure for settings that are wrong, or contradict each other */
export function readLimits(environment?: Environment): { pool: PoolBounds; http: Limits } {
  const wait = setting('DATABASE_WAIT', environment)
  const statement = setting('STATEMENT_TIMEOUT', environment)
  const idle = setting('IDLE_TIMEOUT', environment) * 1000
  // Bun counts a connection as idle while its request is in work.
  const longest = 2 * (wait + statement) + MARGIN_MS
  if (idle < longest)
    throw new Failure(
      `IDLE_TIMEOUT must be at least ${Math.ceil(longest / 1000)}: a request may take DATABASE_WAIT and STATEMENT_TIMEOUT twice`,
    )
  return {
    pool: {
      size: setting('DATABASE_POOL_SIZE', environment),
      waitMs: wait,
      statementMs: statement,
      slowMs: setting('SLOW_STATEMENT_MS', environment),
    },
    http: {
      requests: setting('MAX_REQUESTS', environment),
      headerSize: setting('MAX_HEADER_SIZE', environment),
      bodySize: setting('MAX_BODY_SIZE', environment),
      bodyTimeMs: setting('BODY_TIMEOUT', environment),
      idleMs: idle,
      docs: setting('DOCS', environment),
    },
  }
}

/** Reads TLS_CERT_FILE and TLS_KEY_FILE; undefined if neither is set. @throws Failure if one is missing or wrong */
export function readTls(): Certificate | undefined {
  const certFile = setting('TLS_CERT_FILE')
  const keyFile = setting('TLS_KEY_FILE')
  if (certFile && keyFile) return readCertificate(certFile, keyFile)
  if (!certFile && !keyFile) return undefined
  const missing = certFile ? 'TLS_KEY_FILE' : 'TLS_CERT_FILE'
  throw new Failure(`${missing} is not set: set both of TLS_CERT_FILE and TLS_KEY_FILE, or none`)
}

/** Starts the operator's server if ADMIN_PORT is set. @throws Failure if the port cannot be listened on */
export function startAdmin(view: AdminView): AdminServer | undefined {
  const port = setting('ADMIN_PORT')
  if (port === undefined) return undefined
  return startAdminServer({ host: setting('ADMIN_HOST'), port, prefix: 'ADMIN_' }, view)
}
