import { READ_MODEL, SOURCE_TABLES } from '../schema/read-model.ts'

/** A privilege on one table, as GRANT and has_table_privilege name it. */
interface Privilege {
  table: string
  privilege: 'select' | 'insert' | 'update' | 'delete'
  /** Only these columns. */
  columns?: string[]
}

/** Exactly the privileges that some work needs. */
export interface Needs {
  /** Privileges on the database, as GRANT names them. */
  database: string[]
  privileges: Privilege[]
  /** Functions that PUBLIC cannot call, with the types of their arguments. */
  functions: string[]
}

/** What a role of its own is for. */
export interface Purpose extends Needs {
  verb: string
  /** The commands, as errors name them. */
  commands: string
  /** The option of axport migrate that grants it. */
  option: string
}

const on = (tables: string[], ...privileges: Privilege['privilege'][]): Privilege[] =>
  tables.flatMap(table => privileges.map(privilege => ({ table, privilege })))

const RENDERED = READ_MODEL.map(({ table }) => table)

/**
 * The role that answers requests. It reads the read model and the scopes; it writes tokens, when they were last used, and
 * refusals. It cannot read the source tables or the disclosures. The functions run with the rights of their owner.
 */
export const SERVE: Purpose = {
  verb: 'serve',
  commands: 'axport serve',
  option: '--grant',
  database: ['connect'],
  privileges: [
    ...on(['schema_migrations', 'export_state', 'export_changes', 'export_counts', ...RENDERED], 'select'),
    ...on(
      ['disclosure_state', 'integrations', 'integration_secrets', 'live_secrets', 'live_tokens'],
      'select',
    ),
    { table: 'integration_secrets', privilege: 'update', columns: ['last_used_at'] },
    ...on(['integration_refusals'], 'select', 'insert', 'update'),
    ...on(['access_tokens'], 'select', 'insert', 'delete'),
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
  verb: 'import',
  commands: 'axport import',
  option: '--grant-loader',
  database: ['connect', 'temporary'],
  privileges: [
    ...on(['schema_migrations', 'export_counts', 'erasures'], 'select'),
    ...on(['export_state'], 'select', 'update'),
    ...on(['feeds'], 'select', 'insert', 'update'),
    { table: 'erasures', privilege: 'update', columns: ['assessment_ids'] },
    ...on([...SOURCE_TABLES, ...RENDERED], 'select', 'insert', 'update', 'delete'),
    ...RENDERED.flatMap(table => on([`${table}_rendered`], 'select')),
  ],
  functions: ['forget_export_facts()', 'refresh_export_counts(bigint[])'],
}

/** What the owner of the tables can: import and provision. */
export const OPERATE: Needs = {
  database: [],
  privileges: on(
    [...SOURCE_TABLES, ...RENDERED, 'export_state', 'integrations', 'integration_secrets'],
    ...(['select', 'insert', 'update', 'delete'] as const),
  ),
  functions: [],
}
