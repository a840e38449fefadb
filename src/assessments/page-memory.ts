import { LRUCache } from 'lru-cache'
import type { Filter } from '../contract.ts'
import { Counters } from '../counters.ts'
import { sha256 } from '../random.ts'
import type { Access } from './access.ts'
import type { Mark } from './mark.ts'
import type { Selection } from './selection.ts'

/** A hundred integrations with ten live tokens each. */
const MAX_TOKENS = 1000

/** The key of a token in memory. */
export const keyOf = (tokenDigest: Uint8Array) => Buffer.from(tokenDigest).toString('base64')

/**
 * What a process remembers of pages: the last scope of a token, how many records of a scope matched, and cursors where
 * pages ended.
 *
 * Each count and each cursor has a mark: the newest row of the log of changes in the snapshot that it was read from.
 * Writers commit in the order of positions. So a later snapshot that has this row has all that the count was read from,
 * and the rows after it are the changes since. Without the row the count is too old, or of a database that was set back.
 * Counts and cursors are kept by the digest of the scope and the filters; each statement compares that with the token's.
 */
export class PageMemory {
  private readonly tokens = new LRUCache<string, Access>({ max: MAX_TOKENS })
  private readonly selections: LRUCache<string, Selection>
  /** Whether disclosures are recorded, as last found. */
  isRecorded = false

  /** @param budget in bytes */
  constructor(
    private readonly counters = new Counters(),
    budget = 32 * 1024 * 1024,
  ) {
    this.selections = new LRUCache({ maxSize: budget })
  }

  /** The last access of a token. */
  accessOf(tokenDigest: Uint8Array): Access | undefined {
    return this.tokens.get(keyOf(tokenDigest))
  }

  noteAccess(tokenDigest: Uint8Array, access: Access): void {
    this.tokens.set(keyOf(tokenDigest), access)
  }

  /** What is remembered of the records of a scope that match a filter. */
  selectionOf(scope: string, filter: Filter): Selection | undefined {
    return this.selections.get(selectionKey(scope, filter))
  }

  /**
   * Notes the count of a page in the selection that the page was read with. A selection that another request has replaced
   * meanwhile, as after a contradiction, does not come back.
   * @param isNew whether the selection was made for this page
   */
  notePage(
    scope: string,
    filter: Filter,
    selection: Selection,
    { count, mark, isNew }: { count: number; mark: Mark; isNew: boolean },
  ): void {
    const key = selectionKey(scope, filter)
    this.counters[isNew ? 'pageMemoryMisses' : 'pageMemoryHits']++
    selection.note(count, mark)
    if (!isNew && (this.selections.peek(key) ?? selection) !== selection) return
    // For a value that it has already, the cache would keep the old size.
    this.selections.delete(key)
    this.selections.set(key, selection, { size: selection.bytes + 2 * key.length })
  }
}

/** A digest: a key must be short and contain no names. */
function selectionKey(scope: string, filter: Filter): string {
  const filters = JSON.stringify(filter)
  return filters === '{}' ? scope : sha256(scope + filters).toString('base64')
}
