import { readMigrations } from './read-migrations.ts' with { type: 'macro' }

/** A step of the schema. A released one never changes: databases have a record of its hash. */
export interface Migration {
  name: string
  sql: string
}

/** All migrations in order. They become part of the executable, which has no files beside it. */
export const MIGRATIONS: Migration[] = readMigrations()

/** The tables and views that migrations make, and that with their record. */
export const relationsOf = (migrations: Migration[]): string[] => [
  'schema_migrations',
  ...migrations.flatMap(({ sql }) =>
    [...sql.matchAll(/^create (?:table|view) (\w+)/gm)].map(([, name = '']) => name),
  ),
]

const numberOf = ({ name }: Migration): number => Number(name.slice(0, 4))

/** The number of the schema that these migrations make: that of the last one. */
export function schemaNumber(migrations: Migration[]): number {
  return Math.max(0, ...migrations.map(numberOf))
}

/** The oldest schema whose programs can serve on this: N of `-- compatible-with: N` at its head, or its own number. */
export function compatibleWith(migration: Migration): number {
  const declared = /^(?:--.*\n)*?-- compatible-with: (\d+)\n/.exec(migration.sql)?.[1]
  return Number(declared ?? numberOf(migration))
}
