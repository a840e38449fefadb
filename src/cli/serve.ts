import { Command } from 'commander'
import { setting } from '../config.ts'
import { Failure } from '../errors.ts'
import { startServer } from '../http/server.ts'
import { startPurging } from '../oauth/purge.ts'
import type { Database } from '../postgres/database.ts'
import { createLog } from './log.ts'
import { terminated } from './signals.ts'
import { withDatabase } from './with-database.ts'

/** axport serve */
export function serveCommand(): Command {
  return new Command('serve')
    .description('Serve the HTTP API on HOST and PORT until SIGTERM or Ctrl-C.')
    .addHelpText(
      'after',
      '\nExample: DATABASE_URL=postgres://axport@db.internal/axport HOST=0.0.0.0 axport serve',
    )
    .action(() => withDatabase(serve))
}

/** Serves until a signal; `onListening` is told the address. */
export async function serve(
  database: Database,
  onListening: (url: string) => Promise<void> = async () => {},
): Promise<void> {
  if (database.isGuest) {
    throw new Failure(
      'another process holds the embedded database, and it would end with that one: stop it first',
    )
  }
  const log = createLog()
  const terminate = terminated()
  const server = startServer(database.sql, log, { host: setting('HOST'), port: setting('PORT') })
  const stopPurging = startPurging(database.sql, log)
  log.info({ url: server.url, database: database.kind }, 'listening')
  await onListening(server.url)
  const signal = await terminate
  log.info({ signal }, 'stopping')
  stopPurging()
  await server.stop()
}
