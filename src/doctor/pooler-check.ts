import { openSocket } from '../postgres/connection/socket.ts'
import { client, type Start } from '../postgres/connection/wire.ts'
import { within } from '../within.ts'
import { type Finding, note, ok, warning } from './finding.ts'

const TIMEOUT_MS = 5000

/**
 * What a pooler means: no statement is prepared, and a PgBouncer refuses connections for its server_login_retry after one
 * login to Postgres has failed, however short the outage was.
 * @param start how this command reaches the pooler
 * @param found how it was noticed
 */
export async function checkPooler(start: Start, found: string): Promise<Finding> {
  const seconds = await loginRetry(start)
  const { user = 'this role' } = start.url.login
  const text = `one is in between (${found}): no statement is prepared`
  if (seconds === undefined)
    return note(
      'pooler',
      `${text}; if it is PgBouncer, set its server_login_retry to 1 (doctor checks that when stats_users has ${user})`,
    )
  if (seconds <= 1) return ok('pooler', `${text}; its server_login_retry is ${seconds}`)
  const refusing = `after a restart of Postgres it refuses connections for ${seconds} s`
  return warning('pooler', `${text}; ${refusing}: set its server_login_retry to 1`)
}

/**
 * The seconds of PgBouncer's server_login_retry, from its console; undefined if this role may not use the console, or if
 * the pooler is another program.
 */
async function loginRetry(start: Start): Promise<number | undefined> {
  const url = { ...start.url, login: { ...start.url.login, database: 'pgbouncer' } }
  const options = { max: 1, fetch_types: false }
  const sql = client({ ...start, url, parameters: {} }, () => openSocket(start.route, TIMEOUT_MS), options)
  try {
    // The console reads the simple protocol alone.
    const asked = sql<{ key: string; value: string }[]>`show config`.simple()
    const rows = await within(TIMEOUT_MS, asked, [])
    const value = rows.find(({ key }) => key === 'server_login_retry')?.value
    return value === undefined ? undefined : Number(value)
  } catch {
    return undefined
  } finally {
    await sql.end({ timeout: 0 })
  }
}
