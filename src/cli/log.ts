import pino, { type Logger } from 'pino'
import pretty from 'pino-pretty'
import { setting } from '../config.ts'

/**
 * JSON lines on standard output, each with the fields of `base`; for people, where that is a terminal.
 * Synchronous, so that the last line before an end is never lost, and each line one write: workers share
 * the output, and their lines stay whole.
 */
export function createLog(base: Record<string, unknown> | null = null): Logger {
  const destination = process.stdout.isTTY
    ? pretty({ destination: 1, sync: true, singleLine: true, translateTime: 'SYS:HH:MM:ss.l' })
    : pino.destination({ fd: 1, sync: true })
  return pino({ level: setting('LOG_LEVEL'), base, timestamp: pino.stdTimeFunctions.isoTime }, destination)
}
