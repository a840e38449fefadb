import type { Client } from '../../database/client.ts'
import { timeoutError } from '../../database/failures.ts'
import { findServer } from '../../database/server.ts'
import { type PostgresUrl, readPostgresUrl } from '../../database/url.ts'
import { onTimeout } from '../../timeouts.ts'
import { queryFailure, unreachable, unreadable } from './failure.ts'
import { type Query, rowsStatement } from './queries.ts'

/** Time for the first answer, of all servers together. */
const CONNECT_TIMEOUT_MS = 10_000

/** For the server to accept that a query is cancelled. */
const CANCEL_MS = 2000

/**
 * Time for the next rows of a query, its first ones among them. Without a limit, a platform that lost its power or hangs
 * would hold the feed for ever: neither closes the connection.
 */
const ROWS_TIMEOUT_MS = 10 * 60_000

/** So long before the last snapshot rows are read again: they are stamped before they are committed. */
const OVERLAP_SECONDS = 15 * 60

/** Where a feed ended with its last success, on which the changes of a round depend. */
export interface FeedPosition {
  /** The platform of that round, as Snapshot has it. */
  platform: string
  /** When its snapshot began, by the platform's clock. */
  snapshotAt: string
}

/** One snapshot of the platform's database: all of its rows are of the same moment. */
export interface Snapshot {
  /** The identity of the database, independent of its address. */
  platform: string
  /** When it began, by the platform's clock; on a standby, the time of the data. A timestamptz as text. */
  snapshotAt: string
  /** The setting axport.since in queries: a timestamptz as text, or -infinity. */
  since: string
  /** The rows of a query as CSV. Reads no faster than the consumer takes. */
  copy(query: Query): AsyncGenerator<Uint8Array>
  /** Ends it. Idempotent. */
  close(): Promise<void>
  /** Ends it at once, cancels the running query and lets it fail. */
  cancel(): Promise<void>
}

/**
 * Connects, and begins a read-only snapshot.
 * @param last the last success; undefined to read all
 * @param overlapSeconds, rowsTimeoutMs given by tests only
 * @throws Failure for an invalid URL, or a platform that cannot be reached
 */
export async function openSnapshot(
  text: string,
  last: FeedPosition | undefined,
  overlapSeconds = OVERLAP_SECONDS,
  rowsTimeoutMs = ROWS_TIMEOUT_MS,
): Promise<Snapshot> {
  const url = read(text)
  let client: Client | undefined
  try {
    // A connection lasts for as long as the snapshot.
    const found = await findServer(url, CONNECT_TIMEOUT_MS, { client: { max_lifetime: null } })
    const opened = found.client
    client = opened
    // What follows on another connection would not be of the snapshot.
    opened.seal()
    const cancelTimeout = onTimeout(CONNECT_TIMEOUT_MS, () => opened.destroy(timeoutError()))
    const begun = await begin(opened, last, overlapSeconds).finally(cancelTimeout)
    return {
      ...begun,
      copy: query => copy(opened, query, rowsTimeoutMs),
      close: () => opened.close(),
      cancel: async () => {
        for (const pid of opened.pids) await opened.cancel(pid, CANCEL_MS).catch(() => {})
        opened.destroy()
      },
    }
  } catch (error) {
    client?.destroy()
    throw unreachable(error)
  }
}

function read(text: string): PostgresUrl {
  try {
    return readPostgresUrl(text)
  } catch (error) {
    throw unreadable(error)
  }
}

async function begin(
  client: Client,
  last: FeedPosition | undefined,
  overlapSeconds: number,
): Promise<Pick<Snapshot, 'platform' | 'snapshotAt' | 'since'>> {
  const run = async <Row>(text: string, parameters: (string | null)[] = []) => {
    const [row] = (await client.send(text, parameters, { prepare: false }).rows) as Row[]
    return row as Row
  }
  const { replayed } = await run<{ replayed: string | null }>(REPLAYED)
  // now() is the time of this statement, and so before the snapshot, which the next one takes.
  await run('begin isolation level repeatable read, read only')
  await run(WITHOUT_TIMEOUTS)
  await run(HIDING_NOTHING)
  await run(CHECK_CLIENT)
  const { isAllowed } = await run<{ isAllowed: boolean }>(MAY_READ_SYSTEM)
  const { platform } = await run<{ platform: string }>(isAllowed ? SYSTEM : DATABASE)
  const parameters = [
    last?.snapshotAt ?? null,
    last?.platform ?? null,
    platform,
    String(overlapSeconds),
    replayed,
  ]
  const { since, snapshotAt } = await run<{ since: string; snapshotAt: string }>(SET_SINCE, parameters)
  return { platform, since, snapshotAt }
}

/** Lets the server end the query of a killed feed. Some systems and older servers do not have the setting. */
const CHECK_CLIENT = `
  do $$ begin
    set local client_connection_check_interval = '5s';
  exception when others then null;
  end $$`

/** A query and the load of its rows may take hours. A server has a row for the names that it knows. */
const WITHOUT_TIMEOUTS = `
  select set_config(name, '0', true) from pg_settings
  where name in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`

/**
 * Where a policy would hide rows, Postgres then fails the query: a comparison would remove what it does not see. Who scopes
 * a feed by a policy says so in the URL, as options=-c%20row_security%3Don.
 */
const HIDING_NOTHING = `
  select set_config(name, 'off', true) from pg_settings where name = 'row_security' and source <> 'client'`

/** The identifier of a cluster is the same behind every address and on every standby. Not every provider permits it. */
const MAY_READ_SYSTEM = `
  select coalesce(has_function_privilege(to_regprocedure('pg_control_system()'), 'execute'), false) as "isAllowed"`
const SYSTEM = `select system_identifier || ' ' || current_database() as platform from pg_control_system()`
const DATABASE = 'select current_database()::text as platform'

/**
 * If the platform's clock was set back, its new stamps are older than the last snapshot: now() limits the time. The data
 * of a standby is some time old: rows that its primary stamped since then are still to come.
 */
const SET_SINCE = `
  select
    set_config('axport.since', case
      when $2::text = $3::text then (least($1::text::timestamptz, now()) - make_interval(secs => $4::double precision))::text
      else '-infinity'
    end, true) as since,
    case when pg_is_in_recovery() then least(now(), coalesce($5::text::timestamptz, '-infinity'))
    else now() end::text as "snapshotAt"`

/** Read before the snapshot: a standby that catches up replays hours in a minute. */
const REPLAYED = 'select pg_last_xact_replay_timestamp()::text as replayed'

async function* copy(client: Client, query: Query, rowsTimeoutMs: number): AsyncGenerator<Uint8Array> {
  const statement = rowsStatement(query)
  const chunks = client.copy(statement)
  let isDone = false
  try {
    for (;;) {
      const endTimeout = onTimeout(rowsTimeoutMs, () => client.destroy(timeoutError()))
      const next = await chunks.next().finally(endTimeout)
      if (next.done) break
      yield next.value
    }
    isDone = true
  } catch (error) {
    throw queryFailure(error, query, statement)
  } finally {
    // Unread output would block the next statement.
    if (!isDone) client.destroy()
    await chunks.return(undefined)
  }
}
