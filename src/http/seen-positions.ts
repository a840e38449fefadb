import { LRUCache } from 'lru-cache'

/** Some 2 MB. A token that walks is asked for again long before so many others. */
const MAX_TOKENS = 10_000

/**
 * The position in the log of changes up to which this process has shown the data to each token, so that no later answer
 * is older. Writers commit in the order of positions: what was read at a lower one lacks changes that were shown.
 */
export class SeenPositions {
  readonly #positions = new LRUCache<string, number>({ max: MAX_TOKENS })

  of(tokenDigest: Uint8Array): number | undefined {
    return this.#positions.get(keyOf(tokenDigest))
  }

  /**
   * Notes the position of an answer. A primary below `before` was set back, as by a restore or a promotion: what was seen
   * before does not count any more.
   * @param before what `of()` returned when the request came; requests at the same time may have seen more since
   */
  note(tokenDigest: Uint8Array, position: number, before: number | undefined): void {
    const key = keyOf(tokenDigest)
    const isSetBack = position < (before ?? 0)
    this.#positions.set(key, isSetBack ? position : Math.max(position, this.#positions.get(key) ?? 0))
  }
}

const keyOf = (tokenDigest: Uint8Array) => Buffer.from(tokenDigest).toString('base64')
