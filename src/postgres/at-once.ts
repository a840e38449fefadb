import { Readable } from 'node:stream'

/**
 * postgres.js 3.4.9 asks the server for the types of the parameters of a statement that is not prepared, and waits for
 * the answer, before it sends their values. With every value as text that Postgres reads by its cast, one round
 * trip does.
 */
export function sendAtOnce(query: object): void {
  Object.defineProperty(query, 'describeFirst', { get: () => false, set: () => {} })
}

/**
 * postgres.js 3.4.9 hands a stream on a turn after it was made. An error that came with the first bytes would find
 * nobody who listens, and end the process; so it waits in the stream until that is read.
 */
export function listenAtOnce(query: object): void {
  const known = query as { resolve(result: unknown): void }
  const { resolve } = known
  known.resolve = result => {
    if (result instanceof Readable) result.on('error', () => {})
    resolve(result)
  }
}
