import type { TransactionSql } from 'postgres'
import { RENDERED, renderPeople, renderRecords } from './first-rendering.ts'

/**
 * Makes a large load cheaper by what is checked, built or rendered statement by statement otherwise, and is
 * done at once in the end: the foreign keys of the tables that a load writes; and of those that are empty, the
 * indexes, the keys and the triggers. All in the load's transaction: whoever looks from outside sees them all
 * the time, and a load that fails leaves them as they were.
 *
 * Measured with 1,000,000 assessments: foreign keys 45 s row by row against 2 s at once, indexes of the export
 * 40 s against 15 s, records rendered by triggers 48 s against 29 s, parts beside their keys 14 s against 4 s.
 * The price is a lock. Until the load ends nobody else can use the source tables, which `axport serve` never does;
 * and in a first load nobody can read the export, which is empty.
 */
export interface Relief {
  /** The table is empty and has no key, and so have the tables that go with it: rows are inserted as they come. */
  isEmpty(table: 'users' | 'assessments'): boolean
  /**
   * Checks and builds what was put off, renders what the triggers did not, and puts these back.
   * @param onRendered so many records are rendered, of `total`; the indexes of the export follow the last of them
   */
  finish(onRendered: (done: number, total: number) => void): Promise<void>
}

/** Below it, nothing that is put off could be worth its lock. */
const FEW = 20_000

/** Tables that are empty together, or none of them is taken for it: what is rendered is of the source alone. */
const PEOPLE = ['users', 'export_people']
const RECORDS = ['assessments', 'assessment_parts', 'export_records', 'export_counts']

/**
 * How long each lock may be waited for: as long others wait behind this load in turn. Less than Postgres'
 * deadlock_timeout, so that where a writer goes on from one of the tables to another it is the load that
 * gives way, and never the writer.
 */
const PATIENCE = '900ms'

/** @param changed how many assessments will be written */
export async function relieve(sql: TransactionSql, changed: number): Promise<Relief> {
  if (changed >= FEW) {
    const empty: string[] = []
    for (const group of [PEOPLE, RECORDS]) if (await areEmpty(sql, group)) empty.push(...group)
    const put = await droppable(sql, empty, changed)
    if (put.length > 0 && (await drop(sql, put, empty)))
      return {
        isEmpty: table => empty.includes(table),
        finish: onRendered => finish(sql, put, empty, onRendered),
      }
  }
  await sql`set constraints assessment_parts_assessment_id_fkey deferred`
  return { isEmpty: () => false, finish: async () => {} }
}

interface Droppable {
  table: string
  kind: 'reference' | 'key' | 'index' | 'trigger'
  drop: string
  restore: string
}

/** In the order in which they can be dropped. The definitions come from the catalog, so that they stand in the migrations alone. */
async function droppable(sql: TransactionSql, empty: string[], changed: number): Promise<Droppable[]> {
  return [
    ...(await references(sql, changed)),
    ...(await keys(sql, empty)),
    ...(await indexes(sql, empty)),
    ...(await triggers(sql, empty)),
  ]
}

/** Checking a foreign key at once reads the whole table, so it is worth it only for a good part of one. */
async function references(sql: TransactionSql, changed: number): Promise<Droppable[]> {
  return await sql<Droppable[]>`
    select
      conrelid::regclass::text as table, 'reference' as kind,
      format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop,
      format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as restore
    from pg_constraint
    where contype = 'f' and conrelid in (select to_regclass(name) from unnest(${RECORDS}::text[]) as name)
      and ${changed} * 20 > (select count(*) from assessments)
    order by conname`
}

/** The key of a table that somebody else's table refers to stays. */
async function keys(sql: TransactionSql, empty: string[]): Promise<Droppable[]> {
  return await sql<Droppable[]>`
    select
      conrelid::regclass::text as table, 'key' as kind,
      format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop,
      format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as restore
    from pg_constraint k
    where contype in ('p', 'u') and conrelid in (select to_regclass(name) from unnest(${empty}::text[]) as name)
      and not exists (
        select from pg_constraint f
        where f.confrelid = k.conrelid and f.contype = 'f'
          and f.conrelid not in (select to_regclass(name) from unnest(${RECORDS}::text[]) as name)
      )
    order by conname`
}

async function indexes(sql: TransactionSql, empty: string[]): Promise<Droppable[]> {
  return await sql<Droppable[]>`
    select
      indrelid::regclass::text as table, 'index' as kind,
      format('drop index %s', indexrelid::regclass) as drop, pg_get_indexdef(indexrelid) as restore
    from pg_index
    where indrelid in (select to_regclass(name) from unnest(${empty}::text[]) as name)
      and not exists (select from pg_constraint where conindid = indexrelid)
    order by indrelid, indexrelid`
}

async function triggers(sql: TransactionSql, empty: string[]): Promise<Droppable[]> {
  return await sql<Droppable[]>`
    select
      tgrelid::regclass::text as table, 'trigger' as kind,
      format('alter table %s disable trigger %I', tgrelid::regclass, tgname) as drop,
      format('alter table %s enable trigger %I', tgrelid::regclass, tgname) as restore
    from pg_trigger
    where not tgisinternal and tgenabled = 'O'
      and tgrelid in (select to_regclass(name) from unnest(${empty}::text[]) as name)
    order by tgname`
}

async function areEmpty(sql: TransactionSql, tables: string[]): Promise<boolean> {
  for (const table of tables) {
    const [row] = await sql<{ empty: boolean }[]>`select not exists (select from ${sql(table)}) as empty`
    if (!row?.empty) return false
  }
  return true
}

/** False when the role does not own the tables, or somebody is in the way: then it goes the slow way. */
async function drop(sql: TransactionSql, objects: Droppable[], empty: string[]): Promise<boolean> {
  const [before] = await sql<{ timeout: string }[]>`select current_setting('lock_timeout') as timeout`
  try {
    await sql.savepoint(async savepoint => {
      await savepoint`select set_config('lock_timeout', ${PATIENCE}, true)`
      for (const { drop } of objects) await savepoint.unsafe(drop)
      await savepoint`select set_config('lock_timeout', ${before?.timeout ?? '0'}, true)`
      // Behind the locks nobody writes any more, but somebody may have until then.
      if (!(await areEmpty(savepoint, empty))) throw new NotEmpty()
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

/** Privileges that are missing; a lock that took too long; a deadlock that was found sooner; a view that needs a key. */
const IN_THE_WAY = ['42501', '55P03', '40P01', '2BP01']

async function finish(
  sql: TransactionSql,
  put: Droppable[],
  empty: string[],
  onRendered: (done: number, total: number) => void,
): Promise<void> {
  const restoreAll = async (kind: Droppable['kind'], isOne: (table: string) => boolean) => {
    for (const { restore } of put.filter(one => one.kind === kind && isOne(one.table)))
      await sql.unsafe(restore)
  }
  const isSource = (table: string) => !RENDERED.includes(table)
  for (const kind of ['key', 'index', 'reference'] as const) await restoreAll(kind, isSource)
  if (empty.includes('users')) await renderPeople(sql)
  if (empty.includes('assessments')) await renderRecords(sql, onRendered)
  for (const kind of ['key', 'index'] as const) await restoreAll(kind, table => !isSource(table))
  await restoreAll('trigger', () => true)
}
