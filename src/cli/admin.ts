import { setting } from '../config.ts'
import { type AdminServer, type AdminView, startAdminServer } from '../http/admin/server.ts'

/**
 * Starts the operator's server where ADMIN_PORT asks for one.
 * @throws Failure when it cannot be listened on
 */
export function startAdmin(view: AdminView): AdminServer | undefined {
  const port = setting('ADMIN_PORT')
  if (port === undefined) return undefined
  const settings = { host: 'ADMIN_HOST', port: 'ADMIN_PORT' }
  return startAdminServer({ host: setting('ADMIN_HOST'), port, settings }, view)
}
