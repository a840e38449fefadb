/** How long what may take; milliseconds. */
export interface PoolBounds {
  /** Connections at most. */
  size: number
  /** For a connection, and for any sign of life from the database. */
  wait: number
  /** For a statement. The server ends it then; when nothing is heard a second later, its connection is dropped. */
  statement: number
  /** From which a statement is logged as slow. */
  slow: number
}
