import { TransientFailure } from '../errors.ts'
import { Unanswered } from './request.ts'

const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 30_000

/** Told before each pause: why there is one, and how long it will be. */
export type OnPause = (reason: string, milliseconds: number) => void

/**
 * Does work again as long as it ends in Unanswered, after pauses that double, with jitter so that many clients
 * do not come back at once. A Retry-After is honoured, but not waited for beyond the patience.
 * @param patienceMs asked each time: how long to go on since the first attempt
 * @throws TransientFailure when patience is over
 */
export async function retrying<Result>(
  work: () => Promise<Result>,
  patienceMs: () => number,
  onPause: OnPause,
): Promise<Result> {
  const start = performance.now()
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error
      const { message, retryAfterMs } = error
      const pause = retryAfterMs ?? backOff(attempt)
      if (performance.now() - start + pause > patienceMs()) throw givingUp(message, retryAfterMs, attempt)
      if (pause > 0) onPause(message, pause)
      await Bun.sleep(pause)
    }
  }
}

/** At least half of the step, so that a crowd is spread and nobody comes at once. */
function backOff(attempt: number): number {
  const step = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempt - 1))
  return step * (0.5 + Math.random() / 2)
}

function givingUp(message: string, retryAfterMs: number | undefined, attempts: number): TransientFailure {
  const wish = retryAfterMs ? `, and asks to come back in ${Math.ceil(retryAfterMs / 1000)} s` : ''
  return new TransientFailure(
    `${message}${wish}; gave up after ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`,
  )
}

/**
 * A Retry-After header (RFC 9110 §10.2.3), seconds or a date, in milliseconds. Undefined when it says nothing, or to
 * come back at once: a crowd that does so keeps a service down.
 */
export function readRetryAfter(header: string | null): number | undefined {
  if (!header) return undefined
  const milliseconds = /^\d{1,9}$/.test(header.trim())
    ? Number(header) * 1000
    : Date.parse(header) - Date.now()
  return milliseconds > 0 ? milliseconds : undefined
}
