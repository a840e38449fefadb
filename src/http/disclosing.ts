import type { Answer } from '../answers.ts'
import { ClientGone } from '../postgres/failures.ts'
import type { ServingDatabase } from '../postgres/pool/serving-database.ts'
import { EARLY } from './reading.ts'
import { Recorder } from './recorder.ts'
import { originOf } from './request-log.ts'

/** An answer is withheld, because what it shows could not be recorded; `cause` says why. */
export class Withheld extends Error {
  constructor(
    cause: unknown,
    readonly clientId: string,
  ) {
    super('what an answer shows could not be recorded', { cause })
  }
}

/**
 * Has what answers show recorded at the primary, before they are sent: also those that a standby has read. Whether an
 * answer is to be recorded is said by the statement that read it.
 */
export class Disclosing {
  readonly #recorder: Recorder

  constructor(primary: ServingDatabase) {
    this.#recorder = new Recorder(primary)
  }

  /**
   * The answer, when what it shows is recorded. HEAD shows nothing.
   * @throws Withheld, ClientGone
   */
  async recorded(request: Request, answer: Answer): Promise<Answer> {
    const { shown } = answer
    if (!shown || request.method === 'HEAD') return answer
    const { id: requestId, address, started } = originOf(request)
    // A key of this answer: where the connection is lost and the statement run once more, there is one row.
    const disclosure = {
      ...shown,
      key: Bun.randomUUIDv7(),
      requestId,
      // What names the interface of a link-local address is not part of the address.
      address: address?.replace(/%.*$/, ''),
    }
    // Twice there, and twice here, would take longer than a request may.
    const isLate = performance.now() - started > EARLY
    try {
      await this.#recorder.record(disclosure, request.signal, isLate)
    } catch (error) {
      throw error instanceof ClientGone ? error : new Withheld(error, shown.clientId)
    }
    return answer
  }
}
