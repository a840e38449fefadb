import { type Answer, apiError, errorAnswer, unavailable } from '../answers.ts'
import { ClientGone, DatabaseUnavailable, StatementTimeout } from '../database/failures.ts'
import type { ServingDatabase } from '../database/pool.ts'
import { answerOf } from './errors.ts'
import { Recorder } from './recorder.ts'
import { originOf } from './request-log.ts'
import { requesterOf } from './requester.ts'

/**
 * Records disclosures before the answers are sent. The statement that read an answer says whether its disclosure is to be
 * recorded.
 */
export class Disclosing {
  readonly #recorder: Recorder

  constructor(private readonly database: ServingDatabase) {
    this.#recorder = new Recorder(database)
  }

  /**
   * Resolves with the answer when its disclosure is recorded, or with a 503 if it cannot be. HEAD discloses nothing.
   * @throws ClientGone
   */
  async recorded(request: Request, answer: Answer): Promise<Answer> {
    const { disclosed } = answer
    if (!disclosed || request.method === 'HEAD') return answer
    const { id: requestId, address } = originOf(request)
    // The key makes one row of a statement that is run twice after a lost connection.
    const disclosure = {
      ...disclosed,
      key: Bun.randomUUIDv7(),
      requestId,
      // Without the interface of a link-local address, which Postgres does not take.
      address: address?.replace(/%.*$/, ''),
    }
    try {
      await this.#recorder.record(disclosure, requesterOf(request, this.database.bounds))
    } catch (error) {
      if (error instanceof ClientGone) throw error
      return withheld(request, error, disclosed.clientId)
    }
    return answer
  }
}

/** The 503 of an answer whose disclosure could not be recorded: the same request may be answered later. */
function withheld(request: Request, error: unknown, clientId: string): Answer {
  const failed = answerOf(request, error, apiError)
  const isKnown = error instanceof DatabaseUnavailable
  const timedOut = error instanceof StatementTimeout
  const why = isKnown ? error.reason : timedOut ? 'the statement took too long' : 'an unforeseen error'
  const logFields = { clientId, withheld: `its disclosure could not be recorded: ${why}` }
  return isKnown ? { ...failed, logFields } : errorAnswer(unavailable(apiError, 1), logFields)
}
