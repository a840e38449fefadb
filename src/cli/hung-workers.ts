import type { Logger } from 'pino'
import type { Fleet } from './fleet.ts'
import type { WorkerProcess } from './worker-process.ts'

/** Milliseconds between two questions to each worker. */
const INTERVAL = 5000

/** Questions in a row without an answer after which a worker is ended. */
const SILENCES = 3

/**
 * Asks every worker again and again whether it is there, and kills one that does not answer: the system would go on
 * to deal connections to it. The supervisor starts another one in its place, as for any worker that ends.
 * @returns a function that ends the asking
 */
export function endHungWorkers(fleet: Fleet, log: Logger): () => void {
  const silences = new WeakMap<WorkerProcess, number>()
  const ask = async (worker: WorkerProcess) => {
    // A worker that has just ended cannot be asked.
    const isThere = await worker.ask('presence').catch(() => undefined)
    const count = isThere ? 0 : (silences.get(worker) ?? 0) + 1
    silences.set(worker, count)
    if (count < SILENCES || !worker.isRunning()) return
    log.error({ pid: worker.pid }, 'worker does not answer; ending it')
    worker.kill()
  }
  const timer = setInterval(() => {
    for (const worker of fleet.all()) if (worker.isRunning()) void ask(worker)
  }, INTERVAL)
  return () => clearInterval(timer)
}
