import { type ErrorStyle, unavailable } from '../answers.ts'

/** Why a request got a 503, for operators. */
const OVERLOAD = 'more requests at a time than MAX_REQUESTS allows'

/** Whose requests those are whose token is not known yet. They share what one integration may have. */
export const NOBODY = ''

/**
 * Admits as many requests at a time as MAX_REQUESTS. Each integration has an equal share of them, and one share stays free,
 * so that no integration keeps others out.
 */
export class Admission {
  /** The requests in work of each integration. None is zero. */
  readonly #inWork = new Map<string, number>()

  /** @param inFlight counts all requests, also those whose answer is being sent */
  constructor(
    private readonly maxRequests: number,
    private readonly inFlight: () => number,
  ) {}

  /** Runs the work of a request. @throws HttpError 503 if its integration, or the process, has too many */
  async admit<Result>(
    style: ErrorStyle,
    clientId: string,
    work: () => Promise<Result> | Result,
  ): Promise<Result> {
    const own = this.#inWork.get(clientId) ?? 0
    if (own >= this.#share(own) || this.inFlight() > this.maxRequests)
      throw unavailable(style, 1, { ...(clientId !== NOBODY && { clientId }), refused: [OVERLOAD] })
    this.#inWork.set(clientId, own + 1)
    try {
      return await work()
    } finally {
      const left = (this.#inWork.get(clientId) ?? 1) - 1
      if (left > 0) this.#inWork.set(clientId, left)
      else this.#inWork.delete(clientId)
    }
  }

  /** What an integration may have in work that has `own` now. */
  #share(own: number): number {
    const integrations = this.#inWork.size + (own === 0 ? 1 : 0)
    return Math.max(1, Math.floor(this.maxRequests / (integrations + 1)))
  }
}
