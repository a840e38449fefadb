/** A table of a backup, and the number of rows in one line: some hundred kilobytes. */
export interface KeptTable {
  table: string
  batch: number
}

/**
 * The tables of a backup, in the order in which a restore writes them. A table follows those that it refers to; only parts
 * precede their assessments, which are then rendered once. A scope may have thousands of ids, hence few integrations a line.
 * Tombstones come last: with them, the triggers would refuse rows of erased people.
 */
export const KEPT: KeptTable[] = [
  { table: 'integrations', batch: 100 },
  { table: 'integration_secrets', batch: 5000 },
  { table: 'integration_history', batch: 100 },
  { table: 'organizations', batch: 5000 },
  { table: 'products', batch: 5000 },
  { table: 'users', batch: 5000 },
  { table: 'assessment_parts', batch: 5000 },
  { table: 'assessments', batch: 5000 },
  { table: 'disclosures', batch: 500 },
  { table: 'erasures', batch: 100 },
]

/** The tables that are not in a backup, and why. A test compares both lists with the schema. */
export const LEFT_OUT: Record<string, string> = {
  access_tokens: 'live for two hours, and integrations ask for new ones',
  export_state: 'is one row, which the first line of a backup has',
  disclosure_state: 'is one row, which the first line of a backup has',
  export_records: 'is rendered anew, from the source tables',
  export_people: 'is rendered anew, from the source tables',
  export_products: 'is rendered anew, from the source tables',
  export_counts: 'is counted anew, from the records',
  export_changes: 'is of the database in which the changes were made; a restore begins another log',
  feeds: 'is of a database that this one follows; the next round of each reads everything',
  jobs: 'is of the backups of the database that they were made from',
  feed_rejects: 'is of feeds, and the next round of each reads everything',
  schema_migrations: 'belongs to the schema that is restored into',
}
