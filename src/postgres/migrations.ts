import sourceTables from '../../db/migrations/0001_source_tables.sql' with { type: 'text' }
import readModel from '../../db/migrations/0002_read_model.sql' with { type: 'text' }
import integrations from '../../db/migrations/0003_integrations.sql' with { type: 'text' }
import verifiedPages from '../../db/migrations/0004_verified_pages.sql' with { type: 'text' }
import writersQueueFirst from '../../db/migrations/0005_writers_queue_first.sql' with { type: 'text' }

/** A step of the schema. Immutable once released: its hash is recorded where it was applied. */
export interface Migration {
  name: string
  sql: string
}

/** All of them in order, embedded as text because the executable has no files beside it. */
export const MIGRATIONS: Migration[] = [
  { name: '0001_source_tables', sql: sourceTables },
  { name: '0002_read_model', sql: readModel },
  { name: '0003_integrations', sql: integrations },
  { name: '0004_verified_pages', sql: verifiedPages },
  { name: '0005_writers_queue_first', sql: writersQueueFirst },
]
