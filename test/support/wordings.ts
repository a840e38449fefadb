/** Words of the product that tests of several subjects meet. Each stands here once, and a sentence in the test of it. */

/** Reasons for which an import rejects a line. */
export const NO_JSON = 'not valid JSON'
export const NO_TYPE = 'type must be organization, product, user or assessment'
export const NO_ID = 'must be a whole number from 1 to 9007199254740991'
export const missing = (column: string, what: string) =>
  `${column}: ${what} is neither in the file nor in the database`

/** What an error says of a parameter that is no number. */
export const NO_NUMBER = 'must be a whole number'

/** The reason for which a setting is refused. */
export const NO_PORT = 'must be a whole number from 0 to 65535'

/** What the log says when the connection pool reaches no database, when it does again, and when only some connections are left. */
export const LOST = 'the database cannot be reached'
export const FOUND = 'the database can be reached again'
export const NO_FURTHER = 'the database takes no further connection'

/** Why a statement or a command failed whose connection was cut, and why one did that needed space. */
export const CUT = 'the connection to the database was lost'
export const DISK_FULL = 'the disk of the database is full'
