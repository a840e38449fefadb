import { databaseUrl, setting } from '../config.ts'
import { Failure, UsageFailure } from '../errors.ts'
import type { Database } from '../postgres/database.ts'
import { createLog } from './log.ts'
import { Service } from './service.ts'
import { operated, type Stage } from './stage.ts'
import { standbyServers } from './standbys.ts'
import { superviseWorkers } from './supervisor.ts'
import { withDatabase } from './with-database.ts'
import { supervised } from './worker.ts'
import { countOf } from './workers.ts'

/** Serves until a signal; `onListening` is told the address. */
export async function serve(
  database: Database,
  onListening: (url: string) => Promise<void> = async () => {},
): Promise<void> {
  await operated(stage => serveOn(database, stage, onListening))
}

/** Serves DATABASE_URL, once it is there, until a signal. */
export async function serveAlone(): Promise<void> {
  // Wrong settings are not to be found after a wait.
  standbyServers()
  await operated(stage => stage.arrival.withDatabase(database => serveOn(database, stage)))
}

async function serveOn(
  database: Database,
  { log, signalled, arrival, admin, onReload }: Stage,
  onListening: (url: string) => Promise<void> = async () => {},
): Promise<void> {
  if (database.isGuest) {
    throw new Failure(
      'another process holds the embedded database, and it would end with that one: stop it first',
    )
  }
  const service = await Service.open(database, log)
  arrival.becomes(service)
  const url = service.listen(publicAddress())
  onReload(() => service.reload())
  const { disclosures } = service
  log.info({ url, admin: admin?.url, database: database.kind, disclosures }, 'listening')
  await onListening(url)
  log.info({ signal: await signalled }, 'stopping')
  await service.end()
}

const publicAddress = () => ({ host: setting('HOST'), port: setting('PORT') })

/**
 * Serves DATABASE_URL from so many processes until a signal. The embedded database is one process in itself: more in
 * front of it would only wait for each other.
 * @throws UsageFailure when several are to serve the embedded database
 */
export async function serveWithWorkers(workers: number | 'auto'): Promise<void> {
  standbyServers()
  if (databaseUrl().startsWith('embedded:')) {
    if (workers !== 'auto' && workers > 1) {
      throw new UsageFailure(
        'the embedded database serves from one process: leave out --workers, or set DATABASE_URL to a Postgres',
      )
    }
    await serveAlone()
    return
  }
  await superviseWorkers(countOf(workers), publicAddress())
}

/** Serves DATABASE_URL as one of a supervisor's processes, until that says so or is gone. */
export async function serveAsWorker(worker: number): Promise<void> {
  const supervisor = supervised()
  const work = withDatabase(async database => {
    const log = createLog({ worker })
    const port = await Promise.race([supervisor.prepared(), supervisor.stopped])
    if (port === undefined) return
    const service = await Service.open(database, log)
    service.listen({ host: setting('HOST'), port, isShared: true })
    supervisor.onReload(() => service.reload())
    log.info({ pid: process.pid, disclosures: service.disclosures }, 'worker listening')
    supervisor.listening({
      readiness: () => service.readiness(),
      metrics: () => service.measured.json(),
    })
    await supervisor.stopped
    await service.end()
  })
  await Promise.race([work, supervisor.abandoned])
}
