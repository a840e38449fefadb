import type { Sql } from 'postgres'
import { openFirst } from '../postgres/connection/opening.ts'
import { reasonOf } from '../postgres/failures.ts'
import type { ReadServer } from '../postgres/standby/read-servers.ts'
import { primaryStatus, unreplayed } from '../postgres/standby/replayed.ts'
import type { ServerStatus } from '../postgres/standby/server-status.ts'
import { type Plan, type Room, roomFor } from './connection-checks.ts'
import { type Finding, ok, warning } from './finding.ts'

/** Milliseconds for a connection to a standby. */
const PATIENCE = 5000

/** What `serve` is to be run with, and READ_LAG in milliseconds. */
interface StandbyPlan extends Plan {
  lag: number
}

/** Of each standby of DATABASE_READ_URL whether `serve` would read from it, how far it is behind, and what would be better. */
export async function checkStandbys(db: Sql, servers: ReadServer[], plan: StandbyPlan): Promise<Finding[]> {
  if (servers.length === 0) return []
  const primary = await primaryStatus(db)
  const found = await Promise.all(servers.map(server => checkStandby(server, primary, plan)))
  const isNone = found.every(([first]) => first?.status !== 'ok')
  const whole = isNone
    ? warning('reads', 'no standby of DATABASE_READ_URL is fit: the primary serves all')
    : ok('reads', 'standbys serve pages and records, the primary tokens and what a standby does not know')
  return [whole, ...found.flat()]
}

async function checkStandby(
  server: ReadServer,
  primary: ServerStatus,
  plan: StandbyPlan,
): Promise<Finding[]> {
  const check = `standby ${server.name}`
  const started = performance.now()
  const [short] = await unreplayed([server], primary, plan.lag)
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  if (short) return [warning(check, `passed over: ${short.why} (looked at for ${seconds} s)`)]
  const settings = await settingsOf(server).catch(reasonOf)
  if (typeof settings === 'string')
    return [warning(check, `replays in time, and gives no connection: ${settings}`)]
  const { conflicts, ...room } = settings
  return [
    ok(check, `serves, at most ${seconds} s behind`),
    ...checkConflicts(`${check} conflicts`, conflicts, plan),
    roomFor(`${check} connections`, room, plan),
  ]
}

/** Settings of a standby: its room, and after how many milliseconds replay cancels statements; null for never. */
async function settingsOf(server: ReadServer): Promise<Room & { conflicts: number | null }> {
  const connection = await openFirst(server.url(), PATIENCE)
  try {
    const [row] = (await connection.query(SETTINGS, PATIENCE)) as (Room & { conflicts: number | null })[]
    if (!row) throw new Error('the standby did not say its settings')
    return row
  } finally {
    await connection.close()
  }
}

const SETTINGS = `
  select current_setting('max_connections')::integer as most,
    current_setting('superuser_reserved_connections')::integer
      + coalesce(current_setting('reserved_connections', true), '0')::integer as reserved,
    case when current_setting('hot_standby_feedback') = 'off' then (
      select nullif(setting, '-1')::integer from pg_settings where name = 'max_standby_streaming_delay'
    ) end as conflicts`

function checkConflicts(check: string, delay: number | null, { statement }: Plan): Finding[] {
  if (delay === null || delay >= statement) return []
  return [
    warning(
      check,
      `replay cancels statements in its way after ${delay / 1000} s (max_standby_streaming_delay), and they are run ` +
        `elsewhere: set hot_standby_feedback = on there, or a delay of STATEMENT_TIMEOUT (${statement / 1000} s)`,
    ),
  ]
}
