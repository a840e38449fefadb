import type { Answer } from '../answers.ts'
import { ClientGone } from '../postgres/failures.ts'
import type { ServingDatabase } from '../postgres/pool/serving-database.ts'
import { RERUN_WITHIN_MS } from './reading.ts'
import { Recorder } from './recorder.ts'
import { originOf } from './request-log.ts'

/** An answer was not sent, because its disclosure could not be recorded; `cause` says why. */
export class Withheld extends Error {
  constructor(
    cause: unknown,
    readonly clientId: string,
  ) {
    super('the disclosure of an answer could not be recorded', { cause })
  }
}

/**
 * Records disclosures at the primary before the answers are sent, also those that a standby has read. The statement that
 * read an answer says whether its disclosure is to be recorded.
 */
export class Disclosing {
  readonly #recorder: Recorder

  constructor(primary: ServingDatabase) {
    this.#recorder = new Recorder(primary)
  }

  /**
   * Resolves with the answer when its disclosure is recorded. HEAD discloses nothing.
   * @throws Withheld, ClientGone
   */
  async recorded(request: Request, answer: Answer): Promise<Answer> {
    const { disclosed } = answer
    if (!disclosed || request.method === 'HEAD') return answer
    const { id: requestId, address, started } = originOf(request)
    // The key makes one row of a statement that is run twice after a lost connection.
    const disclosure = {
      ...disclosed,
      key: Bun.randomUUIDv7(),
      requestId,
      // Without the interface of a link-local address, which Postgres does not take.
      address: address?.replace(/%.*$/, ''),
    }
    // Two runs for reading and two here would take longer than a request may.
    const isLate = performance.now() - started > RERUN_WITHIN_MS
    try {
      await this.#recorder.record(disclosure, request.signal, isLate)
    } catch (error) {
      throw error instanceof ClientGone ? error : new Withheld(error, disclosed.clientId)
    }
    return answer
  }
}
