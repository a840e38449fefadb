import type { Sql, TransactionSql } from 'postgres'
import { READ_MODEL, SOURCE_TABLES } from '../../db/schema.ts'
import { whyFailed } from '../database/failures.ts'

/** What a load writes, itself or by triggers. */
const TABLES = [...SOURCE_TABLES, ...READ_MODEL.map(({ table }) => table), 'export_counts']

/**
 * Analyzes, after the commit of a load, each table of which more than a tenth has changed since it was last analyzed. So a
 * load also does what one before it did not do because it was killed. Which pages are visible to all is left to autovacuum:
 * a role that loads may not vacuum.
 * @param onAnalyze is called if there is such a table
 * @returns what remains to be done if that failed
 */
export async function tidy(db: Sql, onAnalyze: () => void): Promise<string | undefined> {
  try {
    const tables = await changedTables(db)
    if (tables.length > 0) onAnalyze()
    for (const { name } of tables) await db`select analyze_table(${name})`
    return undefined
  } catch (error) {
    return `statistics were not gathered (${whyFailed(error)}): pages may be slow until the next import, which gathers them`
  }
}

/**
 * The counters are those by which autovacuum decides. Without them (track_counts = off), and after a crash of the server,
 * no table was ever analyzed.
 */
const changedTables = (db: Sql) => db<{ name: string }[]>`
  select name
  from unnest(${TABLES}::text[]) as name
  join pg_class c on c.oid = to_regclass(name)
  join pg_stat_all_tables s on s.relid = c.oid
  where n_mod_since_analyze * 10 > reltuples or coalesce(last_analyze, last_autoanalyze) is null
  order by name`

/** Lets the counters of this transaction be seen at its commit. Postgres may otherwise keep them for ten seconds. */
export const countAtCommit = (sql: TransactionSql) => sql`select pg_stat_force_next_flush()`
