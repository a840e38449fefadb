import type { Sql } from 'postgres'
import type { Runner } from '../postgres/statement.ts'
import { type Finding, ok, skipped, warning } from './finding.ts'

/** What `serve` is to be run with. */
interface Plan {
  /** Its processes. */
  workers: number
  /** DATABASE_POOL_SIZE */
  poolSize: number
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

/** Each process may have one connection more than its pool, while it looks into a silence. */
async function checkRoom(db: Sql, { workers, poolSize }: Plan): Promise<Finding> {
  const [server] = await db<{ most: number; reserved: number }[]>`
    select current_setting('max_connections')::integer as most,
      current_setting('superuser_reserved_connections')::integer
        + coalesce(current_setting('reserved_connections', true), '0')::integer as reserved`
  const { most, reserved } = server ?? { most: 0, reserved: 0 }
  const room = Math.floor((most - reserved) / (poolSize + 1))
  const text =
    `max_connections is ${most}, ${reserved} of them reserved: room for ${room} ` +
    `${room === 1 ? 'process' : 'processes'} with DATABASE_POOL_SIZE ${poolSize} and one connection more`
  return workers > room
    ? warning('connections', `${text}, and not for ${workers}: lower one of them, or raise max_connections`)
    : ok('connections', text)
}
