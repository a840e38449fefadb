/** The advisory locks, each held for a transaction, as behind a transaction pooler. The numbers are arbitrary. */
export const LOCKS = {
  /** For changing the schema or its privileges. */
  schema: 7_241_905_833,
  /** For one load at a time. */
  import: 7_241_905_834,
  /** For one process at a time that deletes expired tokens; the others skip that. */
  purge: 7_241_905_835,
}
