import { LOAD_PRIVILEGES } from './load.ts'
import { type Privilege, SERVE_FUNCTIONS, SERVE_PRIVILEGES } from './serve.ts'

/** What a role of its own is for, and exactly what it needs for that. */
export interface Purpose {
  /** As "serve"; the commands as whoever reads an error knows them. */
  verb: string
  commands: string
  /** The option of axport migrate that grants it. */
  option: string
  /** Privileges on the database, as GRANT names them. */
  database: string[]
  privileges: Privilege[]
  /** Functions that not everybody may call, with the types of their arguments. */
  functions: string[]
}

/** The role that answers requests. */
export const SERVE: Purpose = {
  verb: 'serve',
  commands: 'axport serve',
  option: '--grant',
  database: ['connect'],
  privileges: SERVE_PRIVILEGES,
  functions: SERVE_FUNCTIONS,
}

/** The role that loads data. An import reads its lines into temporary tables. */
export const LOAD: Purpose = {
  verb: 'import',
  commands: 'axport import',
  option: '--grant-loader',
  database: ['connect', 'temporary'],
  privileges: LOAD_PRIVILEGES,
  functions: ['forget_export_facts()', 'refresh_export_counts(bigint[])'],
}
