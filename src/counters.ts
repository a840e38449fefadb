/** Counts of a process for /metrics, which only grow. Requests are counted elsewhere. */
export interface Counters {
  /** Errors of the database in requests, lost connections included. */
  databaseErrors: number
  /** Pages that were read with hints of the page memory, and without. */
  pageMemoryHits: number
  pageMemoryMisses: number
  /** Expired tokens and ended secrets that were deleted. */
  purgedTokens: number
  purgedSecrets: number
}

/** Counters at zero. */
export function newCounters(): Counters {
  return { databaseErrors: 0, pageMemoryHits: 0, pageMemoryMisses: 0, purgedTokens: 0, purgedSecrets: 0 }
}
