import { type Environment, setting } from '../config.ts'
import { Failure } from '../errors.ts'
import type { Limits } from '../http/endpoint.ts'
import type { PoolBounds } from '../postgres/pool/connection-pool.ts'

/** Milliseconds for everything about an answer that is not the database's. */
const MARGIN = 3000

/**
 * The bounds that `serve` keeps, from the settings.
 * @throws Failure for a setting that is wrong, or ones that do not go together
 */
export function readLimits(environment?: Environment): { pool: PoolBounds; http: Limits } {
  const wait = setting('DATABASE_WAIT', environment)
  const statement = setting('STATEMENT_TIMEOUT', environment)
  const idle = setting('IDLE_TIMEOUT', environment) * 1000
  // Bun closes a connection whose request is still in work, too.
  const longest = 2 * (wait + statement) + MARGIN
  if (idle < longest) {
    throw new Failure(
      `IDLE_TIMEOUT must be at least ${Math.ceil(longest / 1000)}: a request may take DATABASE_WAIT and STATEMENT_TIMEOUT twice`,
    )
  }
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
