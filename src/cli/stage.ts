import type { Logger } from 'pino'
import type { AdminServer } from '../http/admin/server.ts'
import { startAdmin } from './admin.ts'
import { Arrival } from './arrival.ts'
import { readTls } from './certificate.ts'
import { readLimits } from './limits.ts'
import { createLog } from './log.ts'
import { onHangup, terminated } from './signals.ts'

/** What a service has around it from the first moment on, before its database is there. */
export interface Stage {
  log: Logger
  /** Resolves with the name of the signal that asks the process to end. */
  signalled: Promise<string>
  arrival: Arrival
  admin: AdminServer | undefined
  /** Sets what SIGHUP does; nothing before. */
  onReload(reload: () => void): void
}

/**
 * Runs a service that operators can look at and end from its beginning on.
 * @throws Failure for wrong settings, or an ADMIN_PORT that cannot be listened on
 */
export async function operated(serve: (stage: Stage) => Promise<void>): Promise<void> {
  // Wrong settings are not to be found after a wait.
  readLimits()
  readTls()
  const log = createLog()
  // Before anybody is told that it listens: a signal may follow at once.
  const signalled = terminated()
  let reload = () => {}
  onHangup(() => reload())
  const arrival = new Arrival(log, signalled)
  const admin = startAdmin(arrival)
  const onReload = (callback: () => void) => {
    reload = callback
  }
  try {
    await serve({ log, signalled, arrival, admin, onReload })
  } finally {
    await admin?.stop()
  }
}
