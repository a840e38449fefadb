/** A privilege on one table, as GRANT and has_table_privilege name it. */
export interface Privilege {
  table: string
  privilege: 'select' | 'insert' | 'update' | 'delete'
  /** Only these columns. */
  columns?: string[]
}

/**
 * What `axport serve` does in the database, and all it needs: it reads the read model and the scopes, and
 * writes tokens, when they were last used and what was refused. It cannot read the source tables.
 */
export const SERVE_PRIVILEGES: Privilege[] = [
  { table: 'schema_migrations', privilege: 'select' },
  { table: 'export_state', privilege: 'select' },
  { table: 'export_records', privilege: 'select' },
  { table: 'export_changes', privilege: 'select' },
  { table: 'export_people', privilege: 'select' },
  { table: 'export_products', privilege: 'select' },
  { table: 'integrations', privilege: 'select' },
  { table: 'integration_secrets', privilege: 'select' },
  { table: 'integration_secrets', privilege: 'update', columns: ['last_used_at'] },
  { table: 'integration_refusals', privilege: 'select' },
  { table: 'integration_refusals', privilege: 'insert' },
  { table: 'integration_refusals', privilege: 'update' },
  { table: 'access_tokens', privilege: 'select' },
  { table: 'access_tokens', privilege: 'insert' },
  { table: 'access_tokens', privilege: 'delete' },
  { table: 'live_secrets', privilege: 'select' },
  { table: 'live_tokens', privilege: 'select' },
]

/** The function by which it removes secrets that have ended, and the only one it calls. */
export const SERVE_FUNCTION = 'purge_ended_secrets()'

/** The tables that `axport import` and `axport integration` write; the triggers write as whoever imports. */
export const OPERATOR_TABLES = [
  'organizations',
  'products',
  'users',
  'assessments',
  'assessment_parts',
  'export_state',
  'export_records',
  'export_people',
  'export_products',
  'integrations',
  'integration_secrets',
]
