import { createHash } from 'node:crypto'
import { sql } from 'drizzle-orm'
import type { TransactionSql } from 'postgres'
import { Failure } from '../errors.ts'
import { compatibleWith, MIGRATIONS, type Migration, schemaNumber } from './migrations.ts'
import { rowsOf } from './orm.ts'
import { requirePath } from './search-path.ts'
import type { Runner } from './statement.ts'

/** The first migration of axport 0.1, which had another list of migrations. */
const FIRST_OF_0_1 = '0001_source_tables'

/**
 * Compares the schema of a database with that of this program.
 * @returns the names of migrations that the database lacks, and of those that the program does not know
 * @throws Failure for a database of axport 0.1, for an edited migration, and for an unknown one that this program is not
 * compatible with
 */
export async function compareSchema(db: Runner, migrations: Migration[] = MIGRATIONS) {
  const record = await readRecord(db)
  if (record.some(({ name }) => name === FIRST_OF_0_1))
    throw new Failure(
      'the database was made by axport 0.1 and cannot be upgraded: create an empty database, run axport migrate, load the data, and create the integrations there',
    )
  const hashes = new Map(migrations.map(migration => [migration.name, hash(migration)]))
  const edited = record.find(({ name, sha256 }) => hashes.has(name) && hashes.get(name) !== sha256)
  if (edited) {
    throw new Failure(
      `migration ${edited.name} was edited after it was applied: run the axport that applied it`,
    )
  }
  const ahead = record.filter(({ name }) => !hashes.has(name))
  const own = schemaNumber(migrations)
  requireKnown(namesOf(ahead.filter(row => row.compatibleWith === null || row.compatibleWith > own)))
  const applied = namesOf(record)
  return { missing: namesOf(migrations).filter(name => !applied.includes(name)), ahead: namesOf(ahead) }
}

/** `compatibleWith` is the number of the oldest schema whose programs can use this one; null if none was recorded. */
async function readRecord(db: Runner) {
  type Row = { name: string; sha256: string; compatibleWith: number | null }
  const read = async (text: string) => (await db.unsafe(text, [], { prepare: false })) as Row[]
  const table = await read(`select from pg_catalog.pg_class where oid = to_regclass('schema_migrations')`)
  if (table.length === 0) return []
  return await read(
    `select name, sha256, compatible_with as "compatibleWith" from schema_migrations order by name`,
  )
}

/** Refuses migrations that this program does not know. @throws Failure that names the first of them */
export function requireKnown([first]: string[]): void {
  if (first !== undefined)
    throw new Failure(`the database has migration ${first}, unknown to this axport: run a newer axport`)
}

const hash = ({ sql }: Migration): string => createHash('sha256').update(sql).digest('hex')

const namesOf = (named: { name: string }[]): string[] => named.map(({ name }) => name)

/**
 * Compares the schema, for serving and provisioning.
 * @returns the migrations of a later program with which this one can serve
 * @throws Failure if it is behind, or ahead and incompatible, or if the search_path leads past it
 */
export async function requireUsableSchema(db: Runner): Promise<string[]> {
  const { missing, ahead } = await compareSchema(db)
  if (missing.length === 0) return ahead
  await requirePath(db)
  const names = `${missing.length} (${missing.join(', ')})`
  throw new Failure(`the database schema is behind by ${names}: run axport migrate`)
}

/** Refuses any schema but that of this program. @throws Failure that says what to run */
export async function requireCurrentSchema(db: Runner): Promise<void> {
  requireKnown(await requireUsableSchema(db))
}

/** Creates the table of applied migrations if it is missing. */
export async function createRecord(client: TransactionSql): Promise<void> {
  await rowsOf(
    client,
    sql`
    create table if not exists schema_migrations (
      name text collate "C" primary key,
      sha256 text not null,
      applied_at timestamptz not null default now(),
      compatible_with integer
    )`,
  )
}

/** Records that a migration was applied. */
export async function addToRecord(client: TransactionSql, migration: Migration): Promise<void> {
  await rowsOf(
    client,
    sql`
    insert into schema_migrations (name, sha256, compatible_with)
    values (${migration.name}, ${hash(migration)}, ${compatibleWith(migration)})`,
  )
}
