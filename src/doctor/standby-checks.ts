import type { Sql } from 'postgres'
import { openFirst } from '../postgres/connection/opening.ts'
import type { Route } from '../postgres/connection/socket.ts'
import { reasonOf } from '../postgres/failures.ts'
import type { StandbyAddress } from '../postgres/standby/addresses.ts'
import { primaryStatus, unreplayed } from '../postgres/standby/replayed.ts'
import type { ServerStatus } from '../postgres/standby/server-status.ts'
import { type Plan, type Room, roomFinding } from './connection-checks.ts'
import { checkEncryption } from './encryption-check.ts'
import { type Finding, ok, warning } from './finding.ts'

const CONNECT_TIMEOUT_MS = 5000

/** The plan with READ_LAG in milliseconds. */
interface StandbyPlan extends Plan {
  lag: number
}

/** Checks for each standby of DATABASE_READ_URL whether `serve` would read from it, its lag and its settings. */
export async function checkStandbys(
  db: Sql,
  servers: StandbyAddress[],
  plan: StandbyPlan,
): Promise<Finding[]> {
  if (servers.length === 0) return []
  const primary = await primaryStatus(db)
  const found = await Promise.all(servers.map(server => checkStandby(server, primary, plan)))
  const isNoneUsable = found.every(([first]) => first?.status !== 'ok')
  const whole = isNoneUsable
    ? warning('reads', 'no standby of DATABASE_READ_URL can be used: the primary serves all')
    : ok(
        'reads',
        'standbys serve pages and records, the primary serves tokens and requests that a standby cannot answer',
      )
  return [whole, ...found.flat()]
}

async function checkStandby(
  server: StandbyAddress,
  primary: ServerStatus,
  plan: StandbyPlan,
): Promise<Finding[]> {
  const check = `standby ${server.name}`
  const startedAt = performance.now()
  const [short] = await unreplayed([server], primary, plan.lag)
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  if (short) return [warning(check, `passed over: ${short.why} (probed for ${seconds} s)`)]
  const settings = await settingsOf(server).catch(reasonOf)
  if (typeof settings === 'string')
    return [warning(check, `replays in time, and accepts no connection: ${settings}`)]
  const { conflicts, route, ...room } = settings
  const encryption = await checkEncryption(`${check} encryption`, route, 'DATABASE_READ_URL')
  return [
    ok(check, `serves, at most ${seconds} s behind`),
    ...(encryption.status === 'ok' ? [] : [encryption]),
    ...checkConflicts(`${check} conflicts`, conflicts, plan),
    roomFinding(`${check} connections`, room, plan),
  ]
}

/** Of a standby: its connections, and after how many milliseconds replay cancels statements; null for never. */
type Settings = Room & { conflicts: number | null }

/** The settings of a standby, and how it is reached. */
async function settingsOf(server: StandbyAddress): Promise<Settings & { route: Route }> {
  const connection = await openFirst(server.url(), CONNECT_TIMEOUT_MS)
  try {
    const [row] = (await connection.query(SETTINGS, CONNECT_TIMEOUT_MS)) as Settings[]
    if (!row) throw new Error('the standby did not say its settings')
    return { ...row, route: connection.start.route }
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
      `replay cancels conflicting statements after ${delay / 1000} s (max_standby_streaming_delay), and they are run ` +
        `elsewhere: set hot_standby_feedback = on there, or a delay of STATEMENT_TIMEOUT (${statement / 1000} s)`,
    ),
  ]
}
