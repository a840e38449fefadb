import sourceTables from '../../../db/migrations/0001_source_tables.sql' with { type: 'text' }
import readModel from '../../../db/migrations/0002_read_model.sql' with { type: 'text' }
import changes from '../../../db/migrations/0003_changes.sql' with { type: 'text' }
import writers from '../../../db/migrations/0004_writers.sql' with { type: 'text' }
import integrations from '../../../db/migrations/0005_integrations.sql' with { type: 'text' }
import feeds from '../../../db/migrations/0006_feeds.sql' with { type: 'text' }
import integrationHistory from '../../../db/migrations/0007_integration_history.sql' with { type: 'text' }
import disclosures from '../../../db/migrations/0008_disclosures.sql' with { type: 'text' }
import erasures from '../../../db/migrations/0009_erasures.sql' with { type: 'text' }
import counts from '../../../db/migrations/0010_counts.sql' with { type: 'text' }

/** A step of the schema. A released one never changes: databases have a record of its hash. */
export interface Migration {
  name: string
  sql: string
}

/** All migrations in order, as text: the executable has no files beside it. */
export const MIGRATIONS: Migration[] = [
  { name: '0001_source_tables', sql: sourceTables },
  { name: '0002_read_model', sql: readModel },
  { name: '0003_changes', sql: changes },
  { name: '0004_writers', sql: writers },
  { name: '0005_integrations', sql: integrations },
  { name: '0006_feeds', sql: feeds },
  { name: '0007_integration_history', sql: integrationHistory },
  { name: '0008_disclosures', sql: disclosures },
  { name: '0009_erasures', sql: erasures },
  { name: '0010_counts', sql: counts },
]

const numberOf = ({ name }: Migration): number => Number(name.slice(0, 4))

/** The number of the schema that these migrations make: that of the last one. */
export function schemaNumber(migrations: Migration[]): number {
  return Math.max(0, ...migrations.map(numberOf))
}

/**
 * The number of the oldest schema whose programs can serve and provision on a database with this migration: N of the
 * comment `-- compatible-with: N` at its head, or its own number.
 */
export function compatibleWith(migration: Migration): number {
  const [, number] = /^(?:--.*\n)*?-- compatible-with: (\d+)\n/.exec(migration.sql) ?? []
  return number === undefined ? numberOf(migration) : Number(number)
}
