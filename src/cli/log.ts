import pino, { type Logger } from 'pino'
import { setting } from '../config.ts'

/** JSON lines on standard output. Synchronous, so that the last line before an end is never lost. */
export function createLog(): Logger {
  return pino(
    { level: setting('LOG_LEVEL'), base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ fd: 1, sync: true }),
  )
}
