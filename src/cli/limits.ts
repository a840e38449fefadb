import type { Limits } from '../app/limits.ts'
import { type Environment, setting } from '../config.ts'
import type { PoolBounds } from '../database/bounds.ts'

/**
 * How long a request waits for a connection, or for any sign of life from the database. A Postgres that restarts is back
 * sooner, and no client gives up so early.
 */
export const WAIT_MS = 5000

/** A statement of a page takes milliseconds; a search of all records takes less than half a second. */
const SLOW_STATEMENT_MS = 500

/** From which a request is logged as slow: an integration that walks a list would feel it. */
export const SLOW_REQUEST_MS = 1000

/** A query string of 16 KiB, and the headers that proxies add, four times over. */
const HEADER_BYTES = 65_536

/** A token request has some 200 bytes. */
const BODY_BYTES = 16_384

/** For the body of a token request to arrive, also over a bad line. */
const BODY_MS = 10_000

/**
 * Longer than proxies keep idle connections (60 s), and than any request takes, WAIT_MS and the longest STATEMENT_TIMEOUT
 * together: Bun counts a connection as idle while its request is in work.
 */
const IDLE_MS = 75_000

/** How long requests in flight may take at a shutdown: docker stop kills a process after ten seconds. */
export const SHUTDOWN_MS = 7000

/** The limits of `serve`. @throws Failure for a setting that is wrong */
export function readLimits(environment?: Environment): { pool: PoolBounds; http: Limits } {
  return {
    pool: {
      size: setting('DATABASE_POOL_SIZE', environment),
      waitMs: WAIT_MS,
      statementMs: setting('STATEMENT_TIMEOUT', environment),
      slowMs: SLOW_STATEMENT_MS,
    },
    http: {
      requests: setting('MAX_REQUESTS', environment),
      headerSize: HEADER_BYTES,
      bodySize: BODY_BYTES,
      bodyTimeMs: BODY_MS,
      idleMs: IDLE_MS,
      docs: setting('DOCS', environment),
    },
  }
}
