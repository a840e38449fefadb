import { databaseUrl, setting } from '../config.ts'
import { Failure } from '../errors.ts'
import { requireAddress } from '../http/address.ts'
import { missingEmbedded } from '../postgres/embedded/embedded.ts'
import { requirePrivileges } from '../postgres/privileges/compare.ts'
import { SERVE } from '../postgres/privileges/purposes.ts'
import { print } from './output.ts'
import { requireSettings } from './setting-problems.ts'
import { withDatabase } from './with-database.ts'

/**
 * Does once what `serve` does before it listens: reads the settings, connects, and compares schema and privileges. The
 * ports may be in use by the service that runs.
 * @throws Failure for the first thing that `serve` would refuse
 */
export async function checkServing(): Promise<void> {
  requireSettings(databaseUrl)
  requireAddress({ host: setting('HOST'), port: setting('PORT') })
  const port = setting('ADMIN_PORT')
  if (port !== undefined) requireAddress({ host: setting('ADMIN_HOST'), port, prefix: 'ADMIN_' })
  const missing = missingEmbedded(databaseUrl())
  if (missing) throw new Failure(missing)
  const kind = await withDatabase(async database => {
    await requirePrivileges(database.sql, SERVE)
    return database.kind
  })
  await print(`serve can start: settings, database (${kind}), schema and privileges are as it needs them\n`)
}
