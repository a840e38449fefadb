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

/** A session of Postgres for which pages wait, or a prepared transaction, which belongs to no session any more. */
export interface Blocker {
  /** Null for a prepared transaction. */
  pid: number | null
  /** The name of a prepared transaction; null for a session. */
  gid: string | null
  role: string | null
  /** The tables that it has locked, or will have: requests that come later wait for that, too. */
  tables: string[]
  /** Whether it is a command of axport, such as a first import. */
  isOwn: boolean
  /** The sessions for which it waits itself; none if it has its locks. */
  waitsFor: number[]
  /** The prepared transactions for which it waits itself, by their names. */
  waitsForPrepared: string[]
}

/** What has a lock on a table for which requests wait, or waits for one. */
export async function pageBlockers(db: Runner): Promise<Blocker[]> {
  return await selectBlockers(db, { read: READ, written: WRITTEN })
}

// Documented is to find a prepared transaction by virtualtransaction = '-1/' || xid. That holds only after a restart of
// Postgres; until then it keeps the number of its session. It always holds a lock on its own id.
const selectBlockers = statement<{ read: string[]; written: string[] }, Blocker>(
  sql`
  with locks as materialized (select * from pg_locks),
  prepared as (
    select o.virtualtransaction, p.gid, p.owner
    from pg_prepared_xacts p
    join locks o on o.locktype = 'transactionid' and o.transactionid = p.transaction and o.pid is null and o.granted
  )
  select l.pid, p.gid, coalesce(a.usename, p.owner) as role, array_agg(distinct n.name order by n.name) as tables,
    coalesce(a.application_name = 'axport', false) as "isOwn",
    case when bool_and(l.granted) then '{}' else array_remove(pg_blocking_pids(l.pid), 0) end as "waitsFor",
    case when bool_and(l.granted) or not 0 = any (pg_blocking_pids(l.pid)) then '{}' else array(
      select distinct h.gid
      from locks w
      join locks o on o.relation = w.relation and o.database = w.database and o.pid is null and o.granted
        and (w.mode = 'AccessExclusiveLock' or o.mode <> 'AccessShareLock')
      join prepared h on h.virtualtransaction = o.virtualtransaction
      where w.pid = l.pid and not w.granted
      order by h.gid
    ) end as "waitsForPrepared"
  from (
    select name, array['AccessExclusiveLock'] as modes from unnest(${sql.placeholder('read')}::text[]) as name
    union all
    select name, array['ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock']
    from unnest(${sql.placeholder('written')}::text[]) as name
  ) as n
  join locks l on l.relation = to_regclass(n.name)
    and l.database = (select oid from pg_database where datname = current_database())
  left join pg_stat_activity a on a.pid = l.pid
  left join prepared p on l.pid is null and p.virtualtransaction = l.virtualtransaction
  where l.mode = any (n.modes) and l.pid is distinct from pg_backend_pid()
  group by l.pid, p.gid, coalesce(a.usename, p.owner), a.application_name
  order by l.pid, p.gid`,
  false,
)
