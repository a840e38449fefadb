import { sql as template } from 'drizzle-orm'
import type { Sql, TransactionSql } from 'postgres'
import { disclosureState as state } from '../../db/schema.ts'
import { Failure } from '../errors.ts'
import { LOCKS } from './schema/locks.ts'
import { compatibleWith, MIGRATIONS, schemaNumber } from './schema/migrations.ts'
import { type Runner, statement } from './statement.ts'

/** Whether answers that carry records are recorded before they are sent, and for how long the record is kept. */
export interface Disclosing {
  isOn: boolean
  /** As Postgres writes an interval; null for ever. */
  kept: string | null
}

/** Whether answers are recorded; undefined where the one row that says so was deleted. */
export async function readDisclosing(db: Runner): Promise<Disclosing | undefined> {
  const [row] = await select(db, {})
  return row
}

const select = statement<Record<string, never>, Disclosing>(
  template`select ${state.isOn} as "isOn", ${state.kept}::text as kept from ${state}`,
  false,
)

/** In words: "on, kept for 400 days". */
export function describeDisclosing({ isOn, kept }: Disclosing): string {
  return `${isOn ? 'on' : 'off'}, ${kept === null ? 'kept for ever' : `kept for ${kept}`}`
}

/**
 * Switches the record on or off, and sets how long it is kept; what is left out stays. Programs that would not record
 * refuse the database from then on, when they start.
 * @param wanted `kept` as Postgres reads an interval; null for ever
 * @returns how it is now, and whether anything was otherwise before
 * @throws Failure where the row is gone
 */
export async function setDisclosing(
  sql: Sql,
  wanted: Partial<Disclosing>,
): Promise<Disclosing & { changed: boolean }> {
  return await sql.begin(transaction => writeDisclosing(transaction, wanted))
}

/** The same in a transaction. */
export async function writeDisclosing(
  sql: TransactionSql,
  { isOn, kept }: Partial<Disclosing>,
): Promise<Disclosing & { changed: boolean }> {
  const [before] = await sql<Disclosing[]>`
    select is_on as "isOn", kept::text from disclosure_state for update`
  if (!before)
    throw new Failure('disclosure_state is empty, its one row was deleted: axport doctor says what to do')
  const after = { isOn: isOn ?? before.isOn, kept: kept === undefined ? before.kept : kept }
  const [row] = await sql<Disclosing[]>`
    update disclosure_state set is_on = ${after.isOn}, kept = ${after.kept}::text::interval
    returning is_on as "isOn", kept::text`
  if (!row) throw new Error('the row was there')
  await sql`
    update schema_migrations set compatible_with = ${row.isOn ? RECORDING : SERVING} where name = ${NAME}`
  return { ...row, changed: before.isOn !== row.isOn || before.kept !== row.kept }
}

/** The migration that makes the record, and the oldest schemas whose programs record, and serve at all. */
const NAME = '0008_disclosures'
const migration = MIGRATIONS.filter(({ name }) => name === NAME)
const RECORDING = schemaNumber(migration)
const SERVING = Math.max(...migration.map(compatibleWith))

/** Deletes at most 1,000 of those that are older than they are kept; none while another process is at it. */
export async function purgeDisclosures(db: Runner): Promise<number> {
  const [row] = await purge(db, {})
  return row?.count ?? 0
}

const purge = statement<Record<string, never>, { count: number }>(template`
  with turn as materialized (select pg_try_advisory_xact_lock(${LOCKS.purge}) as is_ours)
  select case when is_ours then purge_disclosures() else 0 end as count from turn`)
