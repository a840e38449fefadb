import { type Answer, apiError, errorAnswer, unavailable } from '../answers.ts'
import { ClientGone, DatabaseUnavailable, StatementTimeout } from '../database/failures.ts'
import type { ServingDatabase } from '../database/pool.ts'
import { type PendingDisclosure, recordDisclosure } from '../disclosures/record.ts'
import { failureAnswer } from './errors.ts'
import { exchangeOf } from './exchange.ts'
import { requestBounds } from './request-bounds.ts'

/**
 * Records disclosures before the answers are sent. The statement that read an answer says whether its disclosure is to be
 * recorded.
 */
export class DisclosureRecorder {
  constructor(private readonly database: ServingDatabase) {}

  /**
   * Resolves with the answer when its disclosure is recorded, or with a 503 if it cannot be. HEAD discloses nothing.
   * @throws ClientGone
   */
  async recorded(request: Request, answer: Answer): Promise<Answer> {
    const { disclosed } = answer
    if (!disclosed || request.method === 'HEAD') return answer
    const { id: requestId, address } = exchangeOf(request)
    const disclosure = {
      ...disclosed,
      key: Bun.randomUUIDv7(),
      requestId,
      // Without the interface of a link-local address, which Postgres does not take.
      address: address?.replace(/%.*$/, ''),
    }
    try {
      await this.#record(request, disclosure)
    } catch (error) {
      if (error instanceof ClientGone) throw error
      return withheld(request, error, disclosed.clientId)
    }
    return answer
  }

  /** Resolves after the commit. @throws as a statement of the database; then it may be recorded all the same */
  async #record(request: Request, disclosure: PendingDisclosure): Promise<void> {
    const bounds = requestBounds(request, this.database.bounds)
    await recordDisclosure(this.database.forRequest({ ...bounds, writes: 'disclosures' }), disclosure)
    this.database.writes.accepted('disclosures')
  }
}

/** The 503 of an answer whose disclosure could not be recorded: the same request may be answered later. */
function withheld(request: Request, error: unknown, clientId: string): Answer {
  const failed = failureAnswer(request, error, apiError)
  const isKnown = error instanceof DatabaseUnavailable
  const timedOut = error instanceof StatementTimeout
  const why = isKnown ? error.reason : timedOut ? 'the statement took too long' : 'an unforeseen error'
  const logFields = { clientId, withheld: `its disclosure could not be recorded: ${why}` }
  return isKnown ? { ...failed, logFields } : errorAnswer(unavailable(apiError, 1), logFields)
}
