import { LRUCache } from 'lru-cache'
import type { Filter } from '../contract.ts'
import { Counters } from '../counters.ts'
import type { RequestBounds } from '../database/bounds.ts'
import { ClientGone, StatementTimeout } from '../database/failures.ts'
import { sha256 } from '../random.ts'
import type { Access } from './access.ts'
import type { Sets } from './filters.ts'
import type { List } from './list.ts'

/** A hundred integrations with ten live tokens each. */
const MAX_TOKENS = 1000

/**
 * What a process remembers: the access of tokens, the sets of scopes, and lists with their counts and cursors. Nothing of it
 * is believed before a statement has compared the token, its scope and the version of the export; but the share of requests
 * that a client may have in work is taken by what is remembered.
 */
export class PageMemory {
  private readonly tokens = new LRUCache<string, Access>({ max: MAX_TOKENS })
  private readonly scopes: LRUCache<string, Sets>
  private readonly lists: LRUCache<string, List>
  /** The counts under way, by the key of their list. */
  private readonly counting = new Map<string, Promise<unknown>>()

  /** @param budget in bytes */
  constructor(
    readonly counters = new Counters(),
    budget = 32 * 1024 * 1024,
  ) {
    const sizeCalculation = ({ organizations, products }: Sets) =>
      200 + organizations.length + products.length
    this.scopes = new LRUCache({ maxSize: budget / 4, sizeCalculation })
    this.lists = new LRUCache({ maxSize: (budget * 3) / 4 })
  }

  /** The last access of a token. */
  accessOf(tokenDigest: string): Access | undefined {
    return this.tokens.get(tokenDigest)
  }

  noteAccess(tokenDigest: string, access: Access): void {
    this.tokens.set(tokenDigest, access)
  }

  /** The sets of a scope: its digest never has others. */
  setsOf(scopeDigest: string): Sets | undefined {
    return this.scopes.get(scopeDigest)
  }

  noteSets(scopeDigest: string, sets: Sets): void {
    this.scopes.set(scopeDigest, sets)
  }

  /**
   * Reads from a list as it is remembered. If it is not, one request at a time reads it without, and the others wait.
   * What is known of the list then is remembered. If that is nothing, the list is forgotten.
   * @throws what `read` throws; ClientGone or StatementTimeout for a request that can wait no longer
   */
  async read<Result extends { list?: List | undefined }>(
    key: string,
    read: (known?: List) => Promise<Result>,
    bounds: RequestBounds,
  ): Promise<Result> {
    for (let other = this.counting.get(key); other; other = this.counting.get(key)) await ended(other, bounds)
    const known = this.lists.get(key)
    this.counters[known ? 'pageMemoryHits' : 'pageMemoryMisses']++
    const reading = read(known)
    if (!known) this.counting.set(key, reading)
    try {
      const result = await reading
      // Unless another request has replaced or forgotten it meanwhile.
      if (this.lists.peek(key) === known) this.note(key, result.list)
      return result
    } finally {
      if (!known) this.counting.delete(key)
    }
  }

  /** Remembers what is known of a list; forgets it if that is nothing. */
  note(key: string, list: List | undefined): void {
    // For a value that it has already, the cache would keep the old size.
    this.lists.delete(key)
    if (list) this.lists.set(key, list, { size: list.bytes + 2 * key.length })
  }
}

/** The key of a list. A digest: a key must be short and contain no names. */
export function listKey(scopeDigest: string, filter: Filter): string {
  const filters = JSON.stringify(filter)
  return filters === '{}' ? scopeDigest : sha256(scopeDigest + filters)
}

/** Resolves when the work of another request is over, however it ends. */
async function ended(work: Promise<unknown>, { signal, deadline }: RequestBounds): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const leave = () => reject(new ClientGone())
  if (signal?.aborted) leave()
  signal?.addEventListener('abort', leave, { once: true })
  const left = deadline === undefined ? undefined : Math.max(0, deadline - performance.now())
  const timer = left === undefined ? undefined : setTimeout(() => reject(new StatementTimeout()), left)
  work.then(
    () => resolve(),
    () => resolve(),
  )
  try {
    await promise
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', leave)
  }
}
