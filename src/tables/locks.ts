import { sql } from 'drizzle-orm'
import { READ_MODEL } from '../../db/schema.ts'
import { type Runner, statement } from '../postgres/statement.ts'

/** What every page reads. */
const NEEDED = [
  ...READ_MODEL.map(({ table }) => table),
  ...['export_state', 'export_changes', 'export_counts', 'disclosure_state'],
  ...['integrations', 'integration_secrets', 'access_tokens'],
]

/** A session of Postgres for which pages wait. */
export interface Blocker {
  pid: number
  role: string | null
  /** The tables that it has locked, or will have: requests that come later wait for that, too. */
  tables: string[]
}

/** The sessions that have an ACCESS EXCLUSIVE lock on a table that pages need, or wait for one. */
export async function pageBlockers(db: Runner): Promise<Blocker[]> {
  return await selectBlockers(db, { tables: NEEDED })
}

const selectBlockers = statement<{ tables: string[] }, Blocker>(
  sql`
  select l.pid, a.usename as role, array_agg(n.name order by n.name) as tables
  from unnest(${sql.placeholder('tables')}::text[]) as n(name)
  join pg_locks l on l.relation = to_regclass(n.name)
    and l.database = (select oid from pg_database where datname = current_database())
  left join pg_stat_activity a on a.pid = l.pid
  where l.mode = 'AccessExclusiveLock' and l.pid <> pg_backend_pid()
  group by l.pid, a.usename
  order by l.pid`,
  false,
)
