import { onTimeout } from '../../postgres/connection/clock.ts'
import type { Connection } from '../../postgres/connection/connection.ts'
import { openFirst } from '../../postgres/connection/opening.ts'
import { type PostgresUrl, readPostgresUrl } from '../../postgres/connection/url.ts'
import { timeoutError } from '../../postgres/failures.ts'
import { queryFailure, unreachable, unreadable } from './failure.ts'
import { type Query, rowsOf } from './queries.ts'
import { watchOver } from './vigil.ts'

/** Milliseconds for the first answer, of all servers together. */
const PATIENCE = 10_000

/** What a feed remembers of its last success, as far as the platform has to know it. */
export interface Since {
  /** The platform of then, as Snapshot has it. */
  platform: string
  /** When its snapshot began, by its clock. */
  startedAt: string
}

/** One snapshot of the platform's database: whatever is read in it is of the same moment. */
export interface Snapshot {
  /** Which database it is, whatever the address by which it was reached. */
  platform: string
  /** When it began, by the platform's clock, or of when it is on a standby; a timestamptz as text. */
  startedAt: string
  /** What queries see as axport.since: a timestamptz as text, or -infinity. */
  since: string
  /** The bytes of a statement of queries.ts, as they come and no faster than they are taken. */
  copy(query: Query, statement?: string): AsyncGenerator<Uint8Array>
  /** Ends it. Idempotent. */
  close(): Promise<void>
  /** Ends it with the query that is running, which fails at once and is cancelled. */
  giveUp(): Promise<void>
}

/** Milliseconds for a request to cancel. */
const FAREWELL = 1000

/**
 * Connects, and begins a snapshot that only reads.
 * @param last the last success; undefined to read all
 * @param overlap seconds before it that are read again
 * @throws Failure for a URL that is none; TransientFailure for a platform that cannot be reached
 */
export async function openSnapshot(
  text: string,
  last: Since | undefined,
  overlap: number,
): Promise<Snapshot> {
  const url = read(text)
  const connect = () => openFirst(url, PATIENCE)
  let connection: Connection | undefined
  try {
    connection = await connect()
    const opened = connection
    const settle = onTimeout(PATIENCE, () => opened.destroy(timeoutError()))
    const begun = await begin(connection, last, overlap).finally(settle)
    return { ...begun, ...ofSnapshot(connection, connect) }
  } catch (error) {
    connection?.destroy()
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

function ofSnapshot(
  connection: Connection,
  connect: () => Promise<Connection>,
): Pick<Snapshot, 'copy' | 'close' | 'giveUp'> {
  const letGo = watchOver(connection, connect)
  return {
    copy: (query, statement) => copy(connection, query, statement),
    async close() {
      letGo()
      if (!connection.isOver) await connection.close()
    },
    async giveUp() {
      letGo()
      await connection.giveUp(FAREWELL)
    },
  }
}

async function begin(
  connection: Connection,
  last: Since | undefined,
  overlap: number,
): Promise<Pick<Snapshot, 'platform' | 'startedAt' | 'since'>> {
  const run = async <Row>(text: string, parameters: (string | null)[] = []) => {
    const [row] = (await connection.run(text, parameters, { prepare: false })) as Row[]
    return row as Row
  }
  const { replayed } = await run<{ replayed: string | null }>(REPLAYED)
  // now() is the time of this statement, and so before the snapshot, which the next one takes.
  await run('begin isolation level repeatable read, read only')
  await run(PATIENT)
  await run(NOTICE_LEAVING)
  const { knows } = await run<{ knows: boolean }>(KNOWS_SYSTEM)
  const { platform } = await run<{ platform: string }>(knows ? SYSTEM : DATABASE)
  const parameters = [last?.startedAt ?? null, last?.platform ?? null, platform, String(overlap), replayed]
  const { since, startedAt } = await run<{ since: string; startedAt: string }>(SET_SINCE, parameters)
  return { platform, since, startedAt }
}

/** Where a feed is killed its query is not to run to the end. Some servers cannot notice that, and older ones do not know how. */
const NOTICE_LEAVING = `
  do $$ begin
    set local client_connection_check_interval = '5s';
  exception when others then null;
  end $$`

/** A query may take as long as it takes, and so may what is done with its rows. A server has a row for the names it knows. */
const PATIENT = `
  select set_config(name, '0', true) from pg_settings
  where name in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`

/** The cluster is the same behind every address and on every standby. Not every provider lets everybody ask. */
const KNOWS_SYSTEM = `
  select coalesce(has_function_privilege(to_regprocedure('pg_control_system()'), 'execute'), false) as knows`
const SYSTEM = `select system_identifier || ' ' || current_database() as platform from pg_control_system()`
const DATABASE = 'select current_database()::text as platform'

/**
 * Where the platform's clock was set back, what it stamps from then on is older than the last snapshot. A standby shows
 * what its primary had committed some time ago: what was stamped since then is still to come.
 */
const SET_SINCE = `
  select
    set_config('axport.since', case
      when $2::text = $3::text then (least($1::timestamptz, now()) - make_interval(secs => $4::double precision))::text
      else '-infinity'
    end, true) as since,
    case when pg_is_in_recovery() then least(now(), coalesce($5::text::timestamptz, '-infinity'))
    else now() end::text as "startedAt"`

/** Of before the snapshot: a standby that catches up replays hours in a minute. */
const REPLAYED = 'select pg_last_xact_replay_timestamp()::text as replayed'

async function* copy(
  connection: Connection,
  query: Query,
  statement = rowsOf(query),
): AsyncGenerator<Uint8Array> {
  let isDone = false
  try {
    yield* connection.copy(statement)
    isDone = true
  } catch (error) {
    throw queryFailure(error, query, statement)
  } finally {
    // What is not taken would stand in the way of whatever follows.
    if (!isDone) connection.destroy()
  }
}
