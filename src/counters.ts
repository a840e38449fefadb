/**
 * What parts of the service count for the operator, beside requests: plain numbers that only grow, added to
 * where the thing happens. /metrics shows them.
 */
export interface Counters {
  /** Errors of the database, lost connections among them, that a request met. */
  databaseErrors: number
  /** Pages whose count and place in the order were remembered, and pages that had to be read without. */
  pageMemoryHits: number
  pageMemoryMisses: number
  /** Expired tokens and ended secrets that were deleted. */
  purgedTokens: number
  purgedSecrets: number
}

export function newCounters(): Counters {
  return { databaseErrors: 0, pageMemoryHits: 0, pageMemoryMisses: 0, purgedTokens: 0, purgedSecrets: 0 }
}
