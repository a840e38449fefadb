import { MACHINE } from './clock.ts'

/** Milliseconds in which the event loop reads what had come before. */
export const READING = 20

/**
 * Calls `act` when so many milliseconds are over and the event loop has read once more: in a process that was stopped
 * (SIGSTOP, a frozen container) timers are due before the answers that came meanwhile are read from the kernel.
 * @returns keeps `act` from being called
 */
export function afterSilence(milliseconds: number, act: () => void, clock = MACHINE): () => void {
  let settle = clock.after(milliseconds, () => {
    settle = clock.after(READING, act)
  })
  return () => settle()
}

/**
 * The result of `work`, when that comes within so many milliseconds.
 * @throws silence()
 */
export async function inTime<Result>(milliseconds: number, work: Promise<Result>): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>()
  const settle = afterSilence(milliseconds, () => reject(silence()))
  try {
    return await Promise.race([work, promise])
  } finally {
    settle()
  }
}

/** Nothing was heard for too long. */
export const silence = () => Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' })

/** The other end has closed. */
export const closed = () =>
  Object.assign(new Error('the connection was closed'), { code: 'CONNECTION_CLOSED' })
