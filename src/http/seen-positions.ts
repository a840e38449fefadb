import { LRUCache } from 'lru-cache'
import { keyOf } from '../assessments/page-memory.ts'

/** Some 2 MB. A token that walks is asked for again long before so many others. */
const MAX_TOKENS = 10_000

/**
 * The position in the log of changes of the newest data that this process has read for each token, so that no later answer
 * is older. Writers commit in the order of positions: what was read at a lower one lacks changes that were shown.
 */
export class SeenPositions {
  readonly #positions = new LRUCache<string, number>({ max: MAX_TOKENS })

  of(tokenDigest: Uint8Array): number | undefined {
    return this.#positions.get(keyOf(tokenDigest))
  }

  /**
   * Notes the position of an answer. One below `before` is of a primary that was set back, as by a restore or a promotion,
   * or that does not show a commit yet while it waits for synchronous standbys: what was seen before does not count any more.
   * @param before what `of()` returned when the request came; requests at the same time may have noted others since
   */
  note(tokenDigest: Uint8Array, position: number, before: number | undefined): void {
    const key = keyOf(tokenDigest)
    const now = this.#positions.get(key)
    // Another request may have noted the lower position already, and a later one newer data since.
    const isSetBack = now === before && position < (before ?? 0)
    this.#positions.set(key, isSetBack ? position : Math.max(position, now ?? 0))
  }
}
