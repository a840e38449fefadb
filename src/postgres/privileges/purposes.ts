import { READ_MODEL, SOURCE_TABLES } from '../../../db/schema.ts'

/** Exactly the privileges that some work needs. */
export interface Needs {
  /** Privileges on the database, as GRANT names them. */
  database: string[]
  /** As GRANT names them: "select, insert on feeds", or "update (one column) on erasures". */
  privileges: string[]
  /** Functions that PUBLIC cannot call, with the types of their arguments. */
  functions: string[]
}

/** What a role of its own is for. */
export interface Purpose extends Needs {
  command: 'serve' | 'import' | 'backup'
  /** What a role can do with them, as axport doctor says it. */
  ability: string
  /** The option of axport migrate that grants it. */
  option: string
}

const RENDERED = READ_MODEL.map(({ table }) => table)
const LOADED = [...SOURCE_TABLES, ...RENDERED].join(', ')

/**
 * The role that answers requests. It reads the read model and the scopes; it writes tokens, and when they were last used.
 * It cannot read the source tables or the disclosures. The functions run with the rights of their owner.
 */
export const SERVE: Purpose = {
  command: 'serve',
  ability: 'serve',
  option: '--grant',
  database: ['connect'],
  privileges: [
    `select on schema_migrations, export_state, export_changes, export_counts, ${RENDERED.join(', ')}`,
    'select on feed_states, jobs',
    'select on disclosure_state, integrations, integration_secrets, live_secrets, live_tokens',
    'update (last_used_at) on integration_secrets',
    'select, insert, delete on access_tokens',
  ],
  functions: [
    'purge_ended_secrets()',
    'record_disclosure(uuid, text, inet, text, bigint[], bigint[], text[])',
    'purge_disclosures()',
  ],
}

/**
 * The role of `axport import` and `axport refresh`. It writes the source tables and, through their triggers, the read
 * model. It cannot read integrations, secrets and tokens. An import reads its lines into temporary tables.
 */
export const LOAD: Purpose = {
  command: 'import',
  ability: 'import',
  option: '--grant-loader',
  database: ['connect', 'temporary'],
  privileges: [
    'select on schema_migrations, export_counts, erasures',
    'select, update on export_state',
    'select, insert, update on feeds',
    'select, insert, delete on feed_rejects',
    'update (assessment_ids) on erasures',
    `select, insert, update, delete on ${LOADED}`,
    `select on ${RENDERED.map(table => `${table}_rendered`).join(', ')}`,
  ],
  functions: ['log_any_change()', 'refresh_export_counts(bigint[])'],
}

/** The role of `axport backup`: it reads what a backup keeps, and writes down only that one was made or rehearsed. */
export const BACK_UP: Purpose = {
  command: 'backup',
  ability: 'back up',
  option: '--grant-backup',
  database: ['connect'],
  privileges: [
    `select on ${SOURCE_TABLES.join(', ')}, erasures`,
    'select on schema_migrations, export_state, disclosure_state, disclosures',
    'select on integrations, integration_secrets, integration_history',
  ],
  functions: ['note_job(text, timestamp with time zone)'],
}

/** What the owner of the tables can: import and provision. */
export const OPERATE: Needs = {
  database: [],
  privileges: [
    `select, insert, update, delete on ${LOADED}, export_state, integrations, integration_secrets`,
  ],
  functions: [],
}
