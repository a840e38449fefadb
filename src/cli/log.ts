import pino, { type Logger } from 'pino'
import { setting } from '../config.ts'

/**
 * JSON lines on standard output, each with the fields of `base`. Synchronous, so that the last line before
 * an end is never lost, and each line one write: workers share the output, and their lines stay whole.
 */
export function createLog(base: Record<string, unknown> | null = null): Logger {
  return pino(
    { level: setting('LOG_LEVEL'), base, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ fd: 1, sync: true }),
  )
}
