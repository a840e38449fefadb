import { readMigrations } from './read-migrations.ts' with { type: 'macro' }

/** A step of the schema. A released one never changes: databases have a record of its hash. */
export interface Migration {
  name: string
  sql: string
}

/** All migrations in order. They become part of the executable, which has no files beside it. */
export const MIGRATIONS: Migration[] = readMigrations()

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
  const declared = /^(?:--.*\n)*?-- compatible-with: (\d+)\n/.exec(migration.sql)?.[1]
  return Number(declared ?? numberOf(migration))
}
