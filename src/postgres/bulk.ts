import type { TransactionSql } from 'postgres'

/**
 * Makes a large load cheaper by what is checked, built or rendered statement by statement otherwise, and is
 * done at once in the end: the foreign keys of the tables that an import writes; and of those that are
 * empty, the indexes and the triggers. All in the load's transaction: whoever looks from outside sees
 * them all the time, and a load that fails leaves them as they were.
 *
 * Measured with 1,000,000 assessments: foreign keys 45 s row by row against 2 s at once, indexes of the
 * export 40 s against 15 s, records rendered by triggers 48 s against 29 s. The price is a lock. Until the
 * load ends nobody else can use the source tables, which `axport serve` never does; and in a first load
 * nobody can read the export, which is empty.
 */
interface Relief {
  /** The triggers are off: whoever writes has to render. */
  rendersLater: boolean
  /** Checks and builds what was put off, and puts the triggers back. */
  restore(): Promise<void>
}

/** Below it, nothing that is put off could be worth its lock. */
const FEW = 20_000

const SOURCE = ['assessments', 'assessment_parts']
const WRITTEN = [...SOURCE, 'export_records', 'export_people']

/**
 * How long each lock may be waited for: as long others wait behind this import in turn. Less than Postgres'
 * deadlock_timeout, so that where a writer goes on from one of the tables to another it is the import that
 * gives way, and never the writer.
 */
const PATIENCE = '900ms'

/** @param changed how many assessments will be written */
export async function relieve(sql: TransactionSql, changed: number): Promise<Relief> {
  if (changed >= FEW) {
    const triggers = await droppableTriggers(sql)
    const others = [...(await droppableKeys(sql, changed)), ...(await droppableIndexes(sql))]
    const put = [...others, ...triggers]
    if (put.length > 0 && (await drop(sql, put, triggers.length > 0))) {
      const restore = async () => {
        for (const { restore } of put) await sql.unsafe(restore)
      }
      return { rendersLater: triggers.length > 0, restore }
    }
  }
  await sql`set constraints assessment_parts_assessment_id_fkey deferred`
  return { rendersLater: false, restore: async () => {} }
}

interface Droppable {
  drop: string
  restore: string
}

/** Checking a key at once reads the whole table, so it is worth it only for a good part of one. */
async function droppableKeys(sql: TransactionSql, changed: number): Promise<Droppable[]> {
  return await sql<Droppable[]>`
    select
      format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop,
      format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as restore
    from pg_constraint
    where contype = 'f' and conrelid in (select to_regclass(name) from unnest(${WRITTEN}::text[]) as name)
      and ${changed} * 20 > (select count(*) from assessments)
    order by conname`
}

/** The definitions come from the catalog, so that they stand in the migrations alone. */
async function droppableIndexes(sql: TransactionSql): Promise<Droppable[]> {
  const indexes: Droppable[] = []
  for (const table of WRITTEN) {
    const found = await sql<Droppable[]>`
      select format('drop index %s', indexrelid::regclass) as drop, pg_get_indexdef(indexrelid) as restore
      from pg_index
      where indrelid = to_regclass(${table})
        and not exists (select from ${sql(table)})
        and not exists (select from pg_constraint where conindid = indexrelid)
      order by indexrelid`
    indexes.push(...found)
  }
  return indexes
}

/** Only where nothing at all is there: what the triggers look after otherwise is then all in the source. */
async function droppableTriggers(sql: TransactionSql): Promise<Droppable[]> {
  if (!(await isEmpty(sql))) return []
  return await sql<Droppable[]>`
    select
      format('alter table %s disable trigger %I', tgrelid::regclass, tgname) as drop,
      format('alter table %s enable trigger %I', tgrelid::regclass, tgname) as restore
    from pg_trigger
    where not tgisinternal and tgenabled = 'O'
      and tgrelid in (select to_regclass(name) from unnest(${SOURCE}::text[]) as name)
    order by tgname`
}

async function isEmpty(sql: TransactionSql): Promise<boolean> {
  const [row] = await sql<{ empty: boolean }[]>`
    select not exists (select from assessments) and not exists (select from assessment_parts)
      and not exists (select from export_records) as empty`
  return row?.empty === true
}

/** False when the role does not own the tables, or somebody is in the way: then it goes the slow way. */
async function drop(sql: TransactionSql, objects: Droppable[], mustBeEmpty: boolean): Promise<boolean> {
  const [before] = await sql<{ timeout: string }[]>`select current_setting('lock_timeout') as timeout`
  try {
    await sql.savepoint(async savepoint => {
      await savepoint`select set_config('lock_timeout', ${PATIENCE}, true)`
      for (const { drop } of objects) await savepoint.unsafe(drop)
      await savepoint`select set_config('lock_timeout', ${before?.timeout ?? '0'}, true)`
      // Behind the locks nobody writes any more, but somebody may have until then.
      if (mustBeEmpty && !(await isEmpty(savepoint))) throw new NotEmpty()
    })
    return true
  } catch (error) {
    if (error instanceof NotEmpty) return false
    const { code } = error as { code?: string }
    if (code && IN_THE_WAY.includes(code)) return false
    throw error
  }
}

class NotEmpty extends Error {}

/** Privileges that are missing; a lock that took too long; a deadlock that was found sooner. */
const IN_THE_WAY = ['42501', '55P03', '40P01']

/** Assessments that are rendered at once where the triggers are off: by joining whole tables. */
export const RENDERED_AT_ONCE = 100_000

/**
 * Does what the triggers do, for the assessments past `after`, up to `last`, of a first load. That no part has the id
 * of an assessment has been checked, and nobody else writes.
 */
export async function renderRound(sql: TransactionSql, after: string, last: string): Promise<void> {
  // Unanalyzed, the tables are joined by a look into an index for every row.
  await sql`analyze assessments (id), assessment_parts (assessment_id), users (id)`
  await sql`select lock_export()`
  await sql`
    insert into export_records
    select v.* from export_records_rendered v where v.id > ${after} and v.id <= ${last}`
}
