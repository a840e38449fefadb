import type { Sql } from 'postgres'
import type { Runner } from '../postgres/statement.ts'
import { type Finding, ok, skipped, warning } from './finding.ts'

/** What `serve` is to be run with. */
export interface Plan {
  /** Its processes. */
  workers: number
  /** DATABASE_POOL_SIZE */
  poolSize: number
  /** Connections of each process beside its pool: one while it looks into a silence, one to look at its standbys. */
  more: number
  /** STATEMENT_TIMEOUT, in milliseconds. */
  statement: number
}

/**
 * What connections to a Postgres are good for: whether a pooler is in between, whether they can write, what the
 * server keeps of the statement_timeout that it is sent, and how many there may be.
 * @param requests a pool as `serve` has it
 */
export async function checkConnections(db: Sql, requests: Runner, plan: Plan): Promise<Finding[]> {
  const rows = await db<{ pid: number }[]>`select pg_backend_pid() as pid`
  const { pid: announced } = rows.state as { pid?: number }
  const pid = rows[0]?.pid
  const isPooled = pid !== announced
  return [
    isPooled
      ? warning(
          'pooler',
          `one is in between (it announces process ${announced}, and the server has ${pid}): no statement is prepared`,
        )
      : ok('pooler', 'none'),
    await checkWrites(db),
    await checkStatementTimeout(requests, plan),
    isPooled
      ? skipped('connections', 'the pooler decides how many: see its own limits')
      : await checkRoom(db, plan),
  ]
}

async function checkWrites(db: Sql): Promise<Finding> {
  const [server] = await db<{ isStandby: boolean; isReadOnly: boolean }[]>`
    select pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only') = 'on' as "isReadOnly"`
  const then = 'pages are answered, and no tokens are issued'
  if (server?.isStandby)
    return warning(
      'writes',
      `none, this is a standby: ${then}. What else is told here is to be mended on its primary`,
    )
  return server?.isReadOnly
    ? warning('writes', `none, default_transaction_read_only is on: ${then}`)
    : ok('writes', 'taken')
}

/** As the connections of requests have it, which send it at their start. */
async function checkStatementTimeout(requests: Runner, { statement }: Plan): Promise<Finding> {
  const rows = await requests.unsafe(
    `select setting::integer as ms, quote_ident(current_user) as role from pg_settings where name = 'statement_timeout'`,
    [],
    { prepare: false },
  )
  const [found] = rows as { ms: number; role: string }[]
  const seconds = (milliseconds: number) => `${milliseconds / 1000} s`
  if (found?.ms === statement) return ok('statement timeout', seconds(statement))
  return warning(
    'statement timeout',
    `${found?.ms ? seconds(found.ms) : 'none'}, although STATEMENT_TIMEOUT sends ${seconds(statement)}: ` +
      `serve ends late statements itself, half a second later. To have the server do that: ` +
      `alter role ${found?.role} set statement_timeout = ${statement}`,
  )
}

async function checkRoom(db: Sql, plan: Plan): Promise<Finding> {
  const [server] = await db<Room[]>`
    select current_setting('max_connections')::integer as most,
      current_setting('superuser_reserved_connections')::integer
        + coalesce(current_setting('reserved_connections', true), '0')::integer as reserved`
  return roomFor('connections', server, plan)
}

/** How many connections a server takes, and how many of those are not for everybody. */
export interface Room {
  most: number
  reserved: number
}

/** Whether a server has the connections that all processes may ask for. */
export function roomFor(check: string, server: Room | undefined, { workers, poolSize, more }: Plan): Finding {
  const { most, reserved } = server ?? { most: 0, reserved: 0 }
  const room = Math.floor((most - reserved) / (poolSize + more))
  const text =
    `max_connections is ${most}, ${reserved} of them reserved: room for ${room} ` +
    `${room === 1 ? 'process' : 'processes'} with DATABASE_POOL_SIZE ${poolSize} and ` +
    `${more === 1 ? 'one connection' : `${more} connections`} more`
  return workers > room
    ? warning(check, `${text}, and not for ${workers}: lower one of them, or raise max_connections`)
    : ok(check, text)
}
