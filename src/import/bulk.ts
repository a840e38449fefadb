import type { TransactionSql } from 'postgres'
import { type RenderProgress, renderRecords } from './render.ts'

/** A load of fewer assessments is not worth the lock. */
const LEAST_ASSESSMENTS = 20_000

/** Groups of tables that count as empty only together: the read model is rendered from this load alone. */
const PEOPLE = ['users', 'export_people']
const RECORDS = ['assessments', 'assessment_parts', 'export_records', 'export_counts']

/**
 * Prepares a load of so many assessments. A load of many checks foreign keys, builds indexes and keys, and renders records
 * at its end: once, and not for each statement. Indexes, keys and triggers are put off for tables alone that were empty.
 * All of it is part of the load's transaction.
 * Measured with 1,000,000 assessments: foreign keys 45 s by row, 2 s at once; indexes of the read model 40 s and 15 s;
 * records rendered by triggers 48 s, by one process here 29 s (`render.ts` lets several do it); parts with their keys 14 s, without 4 s.
 * The price is a lock. Until the load ends nobody else can use the source tables, which `axport serve` never does. In a
 * first load nobody can read the read model, which is empty.
 */
export async function startBulkLoad(sql: TransactionSql, assessments: number) {
  let empty: string[] = []
  let objects: Droppable[] = []
  if (assessments >= LEAST_ASSESSMENTS) {
    for (const group of [PEOPLE, RECORDS]) if (await areEmpty(sql, group)) empty.push(...group)
    objects = await droppable(sql, empty, assessments)
  }
  if (objects.length === 0 || !(await drop(sql, objects, empty))) {
    await sql`set constraints assessment_parts_assessment_id_fkey deferred`
    empty = []
    objects = []
  }
  const restoreAll = async (isLast: boolean) => {
    for (const { restore, isRestoredLast } of objects.toReversed())
      if (isRestoredLast === isLast) await sql.unsafe(restore)
  }
  return {
    hasPutOff: objects.length > 0,
    /** Whether the table and those that belong to it were empty, and have no keys now: plain inserts will do. */
    isEmpty: (table: 'users' | 'assessments') => empty.includes(table),
    /** Checks, builds and renders what was put off. Building indexes follows the last call of `onRendered`. */
    finish: async (onRendered: RenderProgress) => {
      await restoreAll(false)
      if (empty.includes('users')) await sql`insert into export_people select * from export_people_rendered`
      if (empty.includes('assessments')) await renderRecords(sql, assessments, onRendered)
      await restoreAll(true)
    },
  }
}

interface Droppable {
  /** Restored when the read model is rendered: the keys and indexes of its tables, and all triggers. */
  isRestoredLast: boolean
  drop: string
  restore: string
}

/**
 * What can be put off, in the order in which it can be dropped: restoring goes backwards. Adding a foreign key reads the
 * whole table, which pays only if a good part of the table is new. A key stays if a table outside the load refers to it.
 */
async function droppable(sql: TransactionSql, empty: string[], assessments: number): Promise<Droppable[]> {
  return await sql<Droppable[]>`
    with objects as (
      select case contype when 'f' then 'reference' else 'key' end as kind, conrelid as relation, conname as name,
        format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop,
        format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as restore
      from pg_constraint k
      where case
        when contype = 'f' then
          conrelid = any (${RECORDS}::text[]::regclass[]) and ${assessments} * 20 > (select count(*) from assessments)
        else contype in ('p', 'u') and not exists (
          select from pg_constraint f
          where f.confrelid = k.conrelid and f.contype = 'f' and f.conrelid <> all (${RECORDS}::text[]::regclass[])
        )
      end
      union all
      select 'index', indrelid, relname, format('drop index %s', indexrelid::regclass), pg_get_indexdef(indexrelid)
      from pg_index join pg_class c on c.oid = indexrelid
      where not exists (select from pg_constraint where conindid = indexrelid)
      union all
      select 'trigger', tgrelid, tgname,
        format('alter table %s disable trigger %I', tgrelid::regclass, tgname),
        format('alter table %s enable trigger %I', tgrelid::regclass, tgname)
      from pg_trigger where not tgisinternal and tgenabled = 'O'
    )
    select kind = 'trigger' or relation::regclass::text ~ '^"?export' as "isRestoredLast", drop, restore
    from objects
    where kind = 'reference' or relation = any (${empty}::text[]::regclass[])
    order by array_position('{reference,key,index,trigger}'::text[], kind), name`
}

async function areEmpty(sql: TransactionSql, tables: string[]): Promise<boolean> {
  for (const table of tables) if ((await sql`select from ${sql(table)} limit 1`).length > 0) return false
  return true
}

/** False if the role does not own the tables, or another session holds or needs a lock: the load then takes longer. */
async function drop(sql: TransactionSql, objects: Droppable[], empty: string[]): Promise<boolean> {
  try {
    await sql.savepoint(async savepoint => {
      // Other sessions queue behind this load while it waits for a lock. The time is less than Postgres'
      // deadlock_timeout, so that in a deadlock with a writer the load gives way.
      await savepoint`set local lock_timeout = '900ms'`
      for (const { drop } of objects) await savepoint.unsafe(drop)
      await savepoint`set local lock_timeout to default`
      // Another session may have written until the locks were acquired.
      if (!(await areEmpty(savepoint, empty))) throw NOT_EMPTY
    })
    return true
  } catch (error) {
    if (error === NOT_EMPTY || IN_THE_WAY.includes(String((error as { code?: string }).code))) return false
    throw error
  }
}

const NOT_EMPTY = new Error('another session has written to the tables')

/** SQLSTATE: a missing privilege, lock_timeout, a deadlock, and a view that depends on a key. */
const IN_THE_WAY = ['42501', '55P03', '40P01', '2BP01']
