import { Interrupted, UsageFailure } from '../errors.ts'
import type { FromWorker, Reports, ToWorker } from './worker-messages.ts'

/** What a worker is asked for by its supervisor. */
type Reporter = { [About in keyof Reports]: () => Promise<Reports[About]> }

const presence = async (): Promise<true> => true

/** A worker's side of the channel to its supervisor. */
export interface Supervised {
  /** Says that the worker could listen now, and resolves with the port when it is its turn. */
  prepared(): Promise<number>
  /** Says that it listens, and from now on answers all that it is asked; that it is there, it answers from the start. */
  listening(reporter: Omit<Reporter, 'presence'>): void
  /** Calls back each time the certificate is to be read again. */
  onReload(reload: () => void): void
  /** Resolves when the worker is to finish what is in flight and end. */
  stopped: Promise<void>
  /** Rejects when the supervisor is gone, killed with -9 perhaps: there is nobody to stop the worker later. */
  abandoned: Promise<never>
}

/**
 * Makes this process a worker. It obeys its supervisor alone: Ctrl-C and service managers signal every
 * process of a group, and a worker that ended on its own account would be replaced.
 * @throws UsageFailure when there is no supervisor
 */
export function supervised(): Supervised {
  if (!process.send)
    throw new UsageFailure(
      'serve --worker is for the processes that serve --workers starts: did you mean --workers?',
    )
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  const abandoned = Promise.withResolvers<never>()
  process.on('disconnect', () => abandoned.reject(new Interrupted('')))
  const port = Promise.withResolvers<number>()
  const stopped = Promise.withResolvers<void>()
  let reload = () => {}
  const tell = (message: FromWorker) => void process.send?.(message)
  let reporter: Partial<Reporter> = { presence }
  process.on('message', async (message: ToWorker) => {
    if (message.kind === 'listen') port.resolve(message.port)
    if (message.kind === 'reload') reload()
    if (message.kind === 'stop') stopped.resolve()
    if (message.kind === 'ask') {
      const report = await reporter[message.about]?.()
      if (report) tell({ kind: 'report', question: message.question, report })
    }
  })
  return {
    prepared: () => {
      tell({ kind: 'prepared' })
      return port.promise
    },
    onReload: callback => {
      reload = callback
    },
    listening: answering => {
      reporter = { presence, ...answering }
      tell({ kind: 'listening' })
    },
    stopped: stopped.promise,
    abandoned: abandoned.promise,
  }
}
