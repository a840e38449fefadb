import { onTimeout, within } from '../timeouts.ts'
import { GRACE_MS, type RequestBounds } from './bounds.ts'
import { CANCEL_MS, type Client, type SentStatement } from './client.ts'
import { ClientGone, StatementTimeout, timeoutError } from './failures.ts'
import type { Write } from './writes.ts'

/** A statement that takes no longer is not cancelled. To listen to the signal of each would take 15 of 500 µs. */
const UNWATCHED_MS = 50

/** Who waits for the rows of a statement, and what it writes. */
interface Waiter extends Pick<RequestBounds, 'signal'> {
  writes?: Write | undefined
}

/**
 * The rows of a statement. It is cancelled when its time is over, or its client hangs up. A commit that waits for a standby
 * then succeeds: so a disclosure is recorded until its time is over, because a cancel request that comes late would end the
 * wait of another one. Few promises: this is the way of every statement.
 * @throws StatementTimeout, ClientGone, or the error of the statement or its connection
 */
export function rowsInTime(client: Client, sent: SentStatement, ms: number, waiter: Waiter): Promise<object> {
  const { signal, writes } = waiter
  const { promise, resolve, reject } = Promise.withResolvers<object>()
  const lateAt = performance.now() + ms
  let isLate = false
  const late = () => {
    isLate = true
    void end(client, sent)
    stopTimer = onTimeout(GRACE_MS / 2, () => settled(reject, new StatementTimeout()))
  }
  const hangUp = () => {
    if (writes === 'disclosures') return reject(new ClientGone())
    settled(reject, new ClientGone())
    void end(client, sent)
  }
  const watch = () => {
    stopTimer = onTimeout(lateAt - performance.now(), late)
    stopListening = () => signal?.removeEventListener('abort', hangUp)
    signal?.addEventListener('abort', hangUp, { once: true })
    if (signal?.aborted) hangUp()
  }
  const timer = setTimeout(watch, Math.max(0, Math.min(ms, UNWATCHED_MS)))
  let stopTimer = () => clearTimeout(timer)
  let stopListening = () => {}
  const settled = <Value>(settle: (value: Value) => void, value: Value) => {
    stopTimer()
    stopListening()
    if (signal?.aborted) reject(new ClientGone())
    else settle(value)
  }
  sent.rows.then(
    rows => settled(resolve, rows),
    error => settled(reject, isLate ? new StatementTimeout() : error),
  )
  return promise
}

/** Ends a statement: by cancelling it once it is sent, and by ending its connection if that does not help. */
async function end(client: Client, sent: SentStatement): Promise<void> {
  const over = sent.rows.then(
    () => true,
    () => true,
  )
  for (;;) {
    const pid = sent.pid()
    client.cancelledAt = performance.now()
    await client.cancel(pid, CANCEL_MS).catch(() => {})
    if (await within(CANCEL_MS, over, false)) return
    if (pid !== undefined) return client.cut(pid, timeoutError())
  }
}
