import { sql } from 'drizzle-orm'
import { READ_MODEL } from '../../db/schema.ts'
import { type Runner, statement } from '../database/statement.ts'

/** What every page reads. */
const READ = [
  ...READ_MODEL.map(({ table }) => table),
  ...['export_state', 'export_version', 'export_counts', 'disclosure_state'],
  ...['integrations', 'integration_secrets'],
]

/** What requests write. */
const WRITTEN = ['access_tokens', 'disclosures']

/** A session of Postgres for which pages wait, or a prepared transaction, which belongs to no session any more. */
interface Blocker {
  /** Null for a prepared transaction. */
  pid: number | null
  /** The tables that it has locked, or will have: requests that come later wait for that, too. */
  tables: string[]
}

/** What has a lock on a table for which requests wait, or waits for one. */
export async function pageBlockers(db: Runner): Promise<Blocker[]> {
  return await selectBlockers(db, { read: READ, written: WRITTEN })
}

const selectBlockers = statement<{ read: string[]; written: string[] }, Blocker>(
  sql`
  select l.pid, array_agg(distinct n.name order by n.name) as tables
  from (
    select name, array['AccessExclusiveLock'] as modes from unnest(${sql.placeholder('read')}::text[]) as name
    union all
    select name, array['ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock']
    from unnest(${sql.placeholder('written')}::text[]) as name
  ) as n
  join pg_locks l on l.relation = to_regclass(n.name)
    and l.database = (select oid from pg_database where datname = current_database())
  where l.mode = any (n.modes) and l.pid is distinct from pg_backend_pid()
  group by l.pid
  order by l.pid`,
  false,
)
