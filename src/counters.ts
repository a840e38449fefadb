/** Counts of a process for /metrics, which only grow. Requests are counted elsewhere. */
export class Counters {
  /** Errors of the database in requests, lost connections included. */
  databaseErrors = 0
  /** Refusals that were sent after a second: see app/slow-refusals.ts. */
  delayedRefusals = 0
  /** Lists that were remembered when a page was read, and lists that were counted. */
  pageMemoryHits = 0
  pageMemoryMisses = 0
  /** Expired tokens that were deleted. */
  purgedTokens = 0
}
