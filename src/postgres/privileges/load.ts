import type { Privilege } from './serve.ts'

const SOURCE = ['organizations', 'products', 'users', 'assessments', 'assessment_parts']

/** What the triggers of the source tables write, with the rights of the writer. */
const READ_MODEL = ['export_records', 'export_people', 'export_products']

const on = (table: string, ...privileges: Privilege['privilege'][]): Privilege[] =>
  privileges.map(privilege => ({ table, privilege }))

/**
 * What `axport import` and `axport refresh` do in the database, and all they need: they write the source tables, and
 * through their triggers the read model. They cannot read who may read what, and no secrets and tokens.
 */
export const LOAD_PRIVILEGES: Privilege[] = [
  ...on('schema_migrations', 'select'),
  ...on('export_state', 'select', 'update'),
  ...on('export_counts', 'select'),
  ...on('feeds', 'select', 'insert', 'update'),
  ...on('erasures', 'select'),
  { table: 'erasures', privilege: 'update', columns: ['assessment_ids'] },
  ...[...SOURCE, ...READ_MODEL].flatMap(table => on(table, 'select', 'insert', 'update', 'delete')),
  ...READ_MODEL.flatMap(table => on(`${table}_rendered`, 'select')),
]
