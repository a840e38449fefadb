/** A privilege on one table, as GRANT and has_table_privilege name it. */
export interface Privilege {
  table: string
  privilege: 'select' | 'insert' | 'update' | 'delete'
  /** Only these columns. */
  columns?: string[]
}

/**
 * What `axport serve` does in the database, and all it needs: it reads the read model and the scopes, and
 * writes tokens, when they were last used and what was refused. It cannot read the source tables, nor what it has recorded.
 */
export const SERVE_PRIVILEGES: Privilege[] = [
  { table: 'schema_migrations', privilege: 'select' },
  { table: 'export_state', privilege: 'select' },
  { table: 'export_records', privilege: 'select' },
  { table: 'export_changes', privilege: 'select' },
  { table: 'export_counts', privilege: 'select' },
  { table: 'export_people', privilege: 'select' },
  { table: 'export_products', privilege: 'select' },
  { table: 'disclosure_state', privilege: 'select' },
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

/**
 * The functions that it calls with the rights of their owner: by the first it removes secrets that have ended, by the
 * others it records whose records an answer shows, and removes what is older than that is kept.
 */
export const SERVE_FUNCTIONS = [
  'purge_ended_secrets()',
  'record_disclosure(uuid, text, inet, text, bigint[], bigint[], text[])',
  'purge_disclosures()',
]

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
