import { sql } from 'drizzle-orm'
import { READ_MODEL } from '../../db/schema.ts'
import { type Runner, statement } from '../postgres/statement.ts'

/** What every page reads, and what is read to record a disclosure. */
const READ = [
  ...READ_MODEL.map(({ table }) => table),
  ...['export_state', 'export_changes', 'export_counts', 'disclosure_state'],
  ...['integrations', 'integration_secrets', 'integration_history'],
]

/** What requests write. */
const WRITTEN = ['access_tokens', 'disclosures']

/** A session of Postgres for which pages wait. */
export interface Blocker {
  pid: number
  role: string | null
  /** The tables that it has locked, or will have: requests that come later wait for that, too. */
  tables: string[]
  /** Whether it is a command of axport, such as a first import. */
  isOwn: boolean
  /** The sessions for which it waits itself; none if it has its locks. */
  waitsFor: number[]
}

/** The sessions that have a lock on a table for which requests wait, or that wait for one. */
export async function pageBlockers(db: Runner): Promise<Blocker[]> {
  return await selectBlockers(db, { read: READ, written: WRITTEN })
}

const selectBlockers = statement<{ read: string[]; written: string[] }, Blocker>(
  sql`
  select l.pid, a.usename as role, array_agg(n.name order by n.name) as tables,
    coalesce(a.application_name = 'axport', false) as "isOwn",
    case when bool_and(l.granted) then '{}' else pg_blocking_pids(l.pid) end as "waitsFor"
  from (
    select name, array['AccessExclusiveLock'] as modes from unnest(${sql.placeholder('read')}::text[]) as name
    union all
    select name, array['ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock']
    from unnest(${sql.placeholder('written')}::text[]) as name
  ) as n
  join pg_locks l on l.relation = to_regclass(n.name)
    and l.database = (select oid from pg_database where datname = current_database())
  left join pg_stat_activity a on a.pid = l.pid
  where l.mode = any (n.modes) and l.pid <> pg_backend_pid()
  group by l.pid, a.usename, a.application_name
  order by l.pid`,
  false,
)
