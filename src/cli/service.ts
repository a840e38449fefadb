import type { Logger } from 'pino'
import { setting } from '../config.ts'
import { Failure } from '../errors.ts'
import { type Address, startServer } from '../http/server.ts'
import { type Certificate, readCertificate } from '../http/tls.ts'
import { startPurging } from '../oauth/purge.ts'
import type { Database } from '../postgres/database.ts'
import { surviveCuts } from './last-resort.ts'
import { readLimits } from './limits.ts'

/** The service of one process: what answers requests, and what runs beside them. */
export interface Service {
  url: string
  /** Reads the certificate again; keeps the old one, and says why, when that fails. */
  reload(): void
  /** Accepts nothing more, finishes what is in flight, ends its connections to the database. */
  stop(): Promise<void>
}

/**
 * Starts to serve a database whose schema is current. Its `sql` is ended: requests have connections of their own.
 * @throws Failure for wrong settings, or an address that can not be listened on
 */
export async function startService(database: Database, log: Logger, address: Address): Promise<Service> {
  const limits = readLimits()
  const certificate = readTls()
  surviveCuts(log)
  await database.sql.end({ timeout: 1 })
  const pool = database.pool(limits.pool, log)
  const server = startServer(pool, log, address, limits.http, certificate)
  const stopPurging = startPurging(pool, { log })
  return {
    url: server.url,
    reload: () => {
      try {
        const renewed = readTls()
        if (!certificate || !renewed) throw new Failure('TLS is off: set TLS_CERT_FILE and TLS_KEY_FILE')
        server.renew(renewed)
        log.info({}, 'the certificate was read again')
      } catch (error) {
        log.error(
          { reason: (error as Error).message },
          'the certificate could not be read again; the old one stays',
        )
      }
    },
    stop: async () => {
      await Promise.all([stopPurging(), server.stop()])
      await pool.close()
    },
  }
}

/** Whether the port speaks HTTPS. */
export function isEncrypted(): boolean {
  return setting('TLS_CERT_FILE') !== undefined
}

function readTls(): Certificate | undefined {
  const certFile = setting('TLS_CERT_FILE')
  const keyFile = setting('TLS_KEY_FILE')
  if (certFile && keyFile) return readCertificate(certFile, keyFile)
  if (certFile || keyFile) {
    throw new Failure(
      `${certFile ? 'TLS_KEY_FILE' : 'TLS_CERT_FILE'} is not set: set both of TLS_CERT_FILE and TLS_KEY_FILE, or none`,
    )
  }
  return undefined
}
