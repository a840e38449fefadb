import type { Logger } from 'pino'
import { Failure } from '../errors.ts'
import { type Address, freePort, urlOf } from '../http/server.ts'
import { createLog } from './log.ts'
import { isEncrypted } from './service.ts'
import { onHangup, terminated } from './signals.ts'
import { startWorker, type WorkerProcess } from './worker-process.ts'

/** A worker that lived for less is not replaced at once: milliseconds, the pause doubling up to the longest. */
const HEALTHY = 10_000
const SHORTEST_PAUSE = 100
const LONGEST_PAUSE = 10_000

/**
 * Runs `count` workers on one port until a signal, and replaces those that end. While all of them start, a
 * worker that fails is the service failing, with the worker's own line; once they have listened it is
 * trouble that passes, as when the database is restarted.
 * @throws Failure when a worker can not start, or the port is in use
 */
export async function superviseWorkers(count: number, address: Address): Promise<void> {
  const log = createLog()
  const signalled = terminated()
  const numbers = Array.from({ length: count }, (_, index) => index + 1)
  const workers = new Map(numbers.map(number => [number, startWorker(number)]))
  const port = await startTogether(workers, address, signalled)
  if (port !== undefined)
    log.info({ url: urlOf({ ...address, port }, isEncrypted()), workers: count }, 'listening')

  onHangup(() => {
    for (const worker of workers.values()) worker.tell({ kind: 'reload' })
  })
  const stopping = Promise.withResolvers<void>()
  let isStopping = port === undefined
  const kept = [...workers].map(async ([number, first]) => {
    await keepOne(number, first, {
      log,
      port: port ?? 0,
      stopping: stopping.promise,
      isStopping: () => isStopping,
      onReplaced: worker => workers.set(number, worker),
    })
  })
  log.info({ signal: await signalled }, 'stopping')
  isStopping = true
  stopping.resolve()
  for (const worker of workers.values()) worker.tell({ kind: 'stop' })
  await Promise.all(kept)
}

/**
 * Resolves with the port when all listen, or with nothing when a signal came first. The port is looked at
 * once every worker could take it at once, and only then: what remains is the millisecond between the look
 * and their listening, in which a process of the same user that shares ports too could slip in.
 */
async function startTogether(
  workers: Map<number, WorkerProcess>,
  address: Address,
  signalled: Promise<string>,
): Promise<number | undefined> {
  const all = [...workers.values()]
  const failed = Promise.race(
    all.map(async worker => {
      const { how, complaint } = await worker.ended
      throw new Failure(complaint ?? `a worker ended while it started (${how})`)
    }),
  )
  // Later on they are expected to end.
  failed.catch(() => {})
  const started = (async () => {
    await Promise.all(all.map(worker => worker.prepared))
    const port = freePort(address)
    for (const worker of all) worker.tell({ kind: 'listen', port })
    await Promise.all(all.map(worker => worker.listening))
    return port
  })()
  try {
    return await Promise.race([started, failed, signalled.then(() => undefined)])
  } catch (error) {
    for (const worker of all) worker.kill()
    await Promise.all(all.map(worker => worker.ended))
    throw error
  }
}

interface Keeping {
  log: Logger
  port: number
  stopping: Promise<void>
  isStopping(): boolean
  onReplaced(worker: WorkerProcess): void
}

/** Keeps one place filled until the service stops; then resolves when its worker has ended. */
async function keepOne(number: number, first: WorkerProcess, keeping: Keeping): Promise<void> {
  const { log, port } = keeping
  let worker = first
  let pause = 0
  for (;;) {
    const { how, complaint } = await worker.ended
    if (keeping.isStopping()) return
    pause = performance.now() - worker.started > HEALTHY ? 0 : nextPause(pause)
    log.error({ worker: number, pid: worker.pid, how, complaint, pause }, 'worker ended; replacing it')
    await Promise.race([Bun.sleep(pause), keeping.stopping])
    if (keeping.isStopping()) return
    worker = startWorker(number)
    keeping.onReplaced(worker)
    // To this very worker: by the time it is prepared, a later one may have its place.
    const replacement = worker
    replacement.prepared.then(() => replacement.tell({ kind: 'listen', port }))
  }
}

/** 0, then from the shortest to the longest: the first crash of all is answered at once. */
function nextPause(pause: number): number {
  return Math.min(LONGEST_PAUSE, Math.max(SHORTEST_PAUSE, 2 * pause))
}
