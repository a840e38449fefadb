import type { Logger } from 'pino'
import { setting } from '../config.ts'
import { Failure } from '../errors.ts'
import { type Address, freePort, urlOf } from '../http/address.ts'
import { within } from '../within.ts'
import { isEncrypted } from './certificate.ts'
import { Fleet } from './fleet.ts'
import { endHungWorkers } from './hung-workers.ts'
import { operated, type Stage } from './stage.ts'
import { startWorker, type WorkerProcess } from './worker-process.ts'

/** A worker that lived for less is not replaced at once: milliseconds, the pause doubling up to the longest. */
const HEALTHY = 10_000
const SHORTEST_PAUSE = 100
const LONGEST_PAUSE = 10_000

/** Milliseconds that a worker may take beyond its own deadlines to end, the closing of its database among them. */
const END_PATIENCE = 8000

/**
 * Runs `count` workers on one port until a signal, and replaces those that end. While all of them start, a
 * worker that fails is the service failing, with the worker's own line; once they have listened it is
 * trouble that passes, as when the database is restarted.
 * @throws Failure when a worker cannot start, a port is in use, or a worker had to be killed in the end
 */
export async function superviseWorkers(count: number, address: Address): Promise<void> {
  await operated(async stage => {
    // Each worker opens the database for itself; the wait is one for all of them.
    const isThere = await stage.arrival.withDatabase(async () => true)
    if (isThere) await supervise(count, address, stage)
  })
}

async function supervise(
  count: number,
  address: Address,
  { log, signalled, arrival, admin, onReload }: Stage,
): Promise<void> {
  const fleet = new Fleet()
  arrival.becomes(fleet)
  const patience = (setting('SHUTDOWN_DELAY') + setting('SHUTDOWN_TIMEOUT')) * 1000 + END_PATIENCE
  for (let number = 1; number <= count; number++) await fleet.put(number, startWorker(number))
  onReload(() => {
    for (const worker of fleet.all()) worker.tell({ kind: 'reload' })
  })
  // From the start: a worker that hangs then is killed, which fails the start of all.
  const stopAsking = endHungWorkers(fleet, log)
  let port: number | undefined
  try {
    port = await startTogether(fleet.all(), address, signalled)
  } catch (error) {
    stopAsking()
    throw error
  }
  if (port !== undefined) {
    fleet.state = 'serving'
    log.info(
      { url: urlOf({ ...address, port }, isEncrypted()), admin: admin?.url, workers: count },
      'listening',
    )
  }
  await keepUntil(signalled, { fleet, log, port: port ?? 0, patience, stopAsking })
}

/**
 * Resolves with the port when all listen, or with nothing when a signal came first. The port is looked at
 * once every worker could take it at once, and only then: what remains is the millisecond between the look
 * and their listening, in which a process of the same user that shares ports too could slip in.
 */
async function startTogether(
  workers: WorkerProcess[],
  address: Address,
  signalled: Promise<string>,
): Promise<number | undefined> {
  const failed = Promise.race(
    workers.map(async worker => {
      const { how, complaint } = await worker.ended
      // A signal to the whole group ends workers that do not listen for it yet; it is on its way to us as well.
      if (how === 'SIGINT' || how === 'SIGTERM') await within(1000, signalled, '')
      throw new Failure(complaint ?? `a worker ended while it started (${how})`)
    }),
  )
  // Later on they are expected to end.
  failed.catch(() => {})
  const started = (async () => {
    await Promise.all(workers.map(worker => worker.prepared))
    const port = freePort(address)
    for (const worker of workers) worker.tell({ kind: 'listen', port })
    await Promise.all(workers.map(worker => worker.listening))
    return port
  })()
  try {
    return await Promise.race([started, failed, signalled.then(() => undefined)])
  } catch (error) {
    for (const worker of workers) worker.kill()
    await Promise.all(workers.map(worker => worker.ended))
    throw error
  }
}

interface Keeping {
  fleet: Fleet
  log: Logger
  port: number
  /** Milliseconds that all workers together have to end. */
  patience: number
  /** Kills no more workers that do not answer: they may be ending. */
  stopAsking(): void
}

/** Keeps every place filled until a signal, then lets all workers finish. */
async function keepUntil(signalled: Promise<string>, keeping: Keeping): Promise<void> {
  const { fleet, log, patience, stopAsking } = keeping
  const kept = Promise.all(
    fleet.all().map((worker, index) => keepOne(index + 1, worker, keeping, signalled)),
  ).then(() => true)
  log.info({ signal: await Promise.race([signalled, kept.then(() => signalled)]) }, 'stopping')
  stopAsking()
  fleet.state = 'stopping'
  for (const worker of fleet.all()) worker.tell({ kind: 'stop' })
  if (await within(patience, kept, false)) return
  for (const worker of fleet.all()) worker.kill()
  throw new Failure('a worker did not end within SHUTDOWN_TIMEOUT and was killed')
}

/** Keeps one place filled until the service stops; then resolves when its worker has ended. */
async function keepOne(
  number: number,
  first: WorkerProcess,
  { fleet, log, port }: Keeping,
  signalled: Promise<string>,
): Promise<void> {
  let worker = first
  let pause = 0
  for (;;) {
    const { how, complaint } = await worker.ended
    if (fleet.isStopping()) return
    pause = performance.now() - worker.started > HEALTHY ? 0 : nextPause(pause)
    log.error({ worker: number, pid: worker.pid, how, complaint, pause }, 'worker ended; replacing it')
    await Promise.race([Bun.sleep(pause), signalled])
    if (fleet.isStopping()) return
    try {
      worker = startWorker(number)
    } catch (error) {
      log.error({ worker: number, code: (error as { code?: string }).code }, 'worker cannot be started')
      continue
    }
    await fleet.put(number, worker)
    // To this very worker: by the time it is prepared, a later one may have its place.
    const replacement = worker
    replacement.prepared.then(() => replacement.tell({ kind: 'listen', port }))
  }
}

/** 0, then from the shortest to the longest: the first crash of all is answered at once. */
function nextPause(pause: number): number {
  return Math.min(LONGEST_PAUSE, Math.max(SHORTEST_PAUSE, 2 * pause))
}
