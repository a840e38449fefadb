/** A table whose rows are in a backup, and how many of them one line holds: some hundred kilobytes. */
export interface KeptTable {
  table: string
  batch: number
}

/**
 * What a backup holds, in its order, in which a restore writes it: after what it refers to, but for parts, whose
 * assessments follow them and are rendered once. A scope may be thousands of ids long, hence few of these at a time.
 * Tombstones come last: behind them the triggers would refuse what an older backup has of somebody.
 */
export const KEPT: KeptTable[] = [
  { table: 'integrations', batch: 100 },
  { table: 'integration_secrets', batch: 5000 },
  { table: 'integration_refusals', batch: 5000 },
  { table: 'integration_history', batch: 100 },
  { table: 'organizations', batch: 5000 },
  { table: 'products', batch: 5000 },
  { table: 'users', batch: 5000 },
  { table: 'assessment_parts', batch: 5000 },
  { table: 'assessments', batch: 5000 },
  { table: 'disclosures', batch: 500 },
  { table: 'erasures', batch: 100 },
]

/** What a backup leaves out, and why. A test holds both lists to the schema. */
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
  schema_migrations: 'belongs to the schema that is restored into',
}
