import type { Sql } from 'postgres'
import type { Start } from '../postgres/connection/wire.ts'
import { onlyRow, type Runner } from '../postgres/statement.ts'
import { readDisclosing } from '../tables/disclosing.ts'
import { type Finding, note, ok, warning, wrong } from './finding.ts'
import { checkPooler } from './pooler-check.ts'

/** The settings that `serve` will run with. */
export interface Plan {
  /** DATABASE_POOL_SIZE */
  poolSize: number
  /** STATEMENT_TIMEOUT, in milliseconds. */
  statement: number
}

/**
 * Finds out whether a pooler is between this process and Postgres, whether connections can write, and how many the server
 * allows.
 * @param start how `db` connects
 */
export async function checkConnections(db: Sql, start: Start, plan: Plan): Promise<Finding[]> {
  const rows = await db<
    { pid: number; isStandby: boolean; isReadOnly: boolean; most: number; reserved: number }[]
  >`
    select pg_backend_pid() as pid, pg_is_in_recovery() as "isStandby",
      current_setting('transaction_read_only') = 'on' as "isReadOnly",
      current_setting('max_connections')::integer as most,
      current_setting('superuser_reserved_connections')::integer
        + coalesce(current_setting('reserved_connections', true), '0')::integer as reserved`
  const { pid: announced } = rows.state as { pid?: number }
  const { pid, isStandby, isReadOnly, ...room } = onlyRow(rows)
  const isPooled = pid !== announced
  const obstacle = isStandby
    ? 'this is a standby (repair other findings on its primary)'
    : 'default_transaction_read_only is on'
  return [
    isPooled
      ? await checkPooler(start, `it announces process ${announced}, and the server has ${pid}`)
      : ok('pooler', 'none'),
    isReadOnly ? await withoutWrites(db, obstacle) : ok('writes', 'taken'),
    isPooled
      ? note('connections', 'the pooler decides how many: see its own limits')
      : roomFinding(room, plan),
  ]
}

/** What a service does that cannot write. @param obstacle why it cannot */
async function withoutWrites(db: Sql, obstacle: string): Promise<Finding> {
  // A schema that is behind, or a table that the role cannot read, is another finding.
  const disclosing = await readDisclosing(db).catch(() => undefined)
  return disclosing?.isOn
    ? wrong(
        'writes',
        `none, ${obstacle}: no disclosures are recorded, so that no pages are answered, and no tokens are issued`,
      )
    : warning('writes', `none, ${obstacle}: pages are answered, and no tokens are issued`)
}

/**
 * Whether the server uses the statement_timeout that connections of requests send when they start: a pooler or a role may
 * override it.
 * @param requests a connection pool as `serve` has it
 * @param statement STATEMENT_TIMEOUT, in milliseconds
 */
export async function checkStatementTimeout(requests: Runner, statement: number): Promise<Finding> {
  const rows = await requests.unsafe(
    `select setting::integer as ms,
       case when has_table_privilege(to_regclass('assessments'), 'insert') then 'ROLE'
         else quote_ident(current_user) end as role
     from pg_settings where name = 'statement_timeout'`,
    [],
    { prepare: false },
  )
  const { ms, role } = onlyRow(rows as { ms: number; role: string }[])
  const seconds = (duration: number) => `${duration / 1000} s`
  if (ms === statement) return ok('statement timeout', seconds(statement))
  // Without one, serve itself keeps the time. Another one may end a statement too early.
  return (ms === 0 ? note : warning)(
    'statement timeout',
    `${ms > 0 ? seconds(ms) : 'none'}, although STATEMENT_TIMEOUT sends ${seconds(statement)}: ` +
      'serve ends late statements itself, half a second later. To have the server do that' +
      `${role === 'ROLE' ? ', give serve a role of its own (this one also imports)' : ''}: ` +
      `alter role ${role} set statement_timeout = ${statement}`,
  )
}

/** The connections that a server allows, and how many of them are reserved for superusers and other roles. */
interface Room {
  most: number
  reserved: number
}

/** For how many processes a server has connections: each has one more, which probes an unresponsive database. */
function roomFinding({ most, reserved }: Room, { poolSize }: Plan): Finding {
  const check = 'connections'
  const room = Math.floor((most - reserved) / (poolSize + 1))
  const text =
    `max_connections is ${most}, ${reserved} of them reserved: room for ${room} ` +
    `${room === 1 ? 'process' : 'processes'} with DATABASE_POOL_SIZE ${poolSize} and one connection more`
  return room < 1 ? warning(check, `${text}: lower it, or raise max_connections`) : ok(check, text)
}
