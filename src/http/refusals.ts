import { addRefusals } from '../integrations/refusals.ts'
import type { Availability } from '../postgres/pool/availability.ts'
import type { Runner } from '../postgres/statement.ts'

const MINUTE_MS = 60_000

/**
 * Counts what integrations are refused, and notes it in the database: for each at most once a minute, so that a flood of
 * refusals writes no more than one a minute does. The integrations are known ones, and the refusals words of ours:
 * what waits is small.
 */
export class RefusalNotes {
  /** What is to be written, by client id; an empty one of a client that was written for in the last minute. */
  private readonly waiting = new Map<string, Map<string, number>>()

  constructor(
    private readonly pool: Runner & { availability: Pick<Availability, 'isReadOnly'> },
    private readonly pauseMs = MINUTE_MS,
  ) {}

  note(clientId: string, refusals: readonly string[]): void {
    const rests = this.waiting.get(clientId)
    const counts = rests ?? new Map<string, number>()
    for (const what of refusals) counts.set(what, (counts.get(what) ?? 0) + 1)
    if (!rests) this.write(clientId, counts)
  }

  /** Not awaited: no request depends on it. What cannot be written is lost, and nothing is tried while that is known. */
  private write(clientId: string, counts: Map<string, number>): void {
    if (!this.pool.availability.isReadOnly) addRefusals(this.pool, clientId, counts).catch(() => {})
    const more = new Map<string, number>()
    this.waiting.set(clientId, more)
    const rested = () => {
      if (more.size > 0) this.write(clientId, more)
      else this.waiting.delete(clientId)
    }
    setTimeout(rested, this.pauseMs).unref()
  }
}
