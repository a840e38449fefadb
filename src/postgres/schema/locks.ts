/**
 * The advisory locks that axport takes in its database, each for the length of a transaction: it then holds behind
 * a transaction pooler, and dies with a connection. Any numbers that no other program takes would do.
 */
export const LOCKS = {
  /** Who changes the schema or its privileges: migrate, and migrate --grant. */
  schema: 7_241_905_833,
  /** One import at a time. */
  import: 7_241_905_834,
  /** One process at a time deletes expired tokens; the others leave it alone. */
  purge: 7_241_905_835,
}
