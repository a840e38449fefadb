import type { Connection, Open } from '../connection/connection.ts'

/** What a server reports about its replication. */
export interface ServerStatus {
  /** The system identifier, which all servers of a cluster share. */
  system: string
  isStandby: boolean
  /** An LSN in bytes: what a primary has written, or the replay position of a standby. */
  position: bigint
  timeline: number
}

/** Every role may call these functions. A standby reports the timeline that it recorded last. */
export const STATUS = `
  select (select system_identifier from pg_control_system())::text as system, pg_is_in_recovery() as "isStandby",
    coalesce(case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end - '0/0', 0)::text
      as position,
    case when pg_is_in_recovery() then greatest(
      (select timeline_id from pg_control_checkpoint()), (select min_recovery_end_timeline from pg_control_recovery()))
    else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer end as timeline`

/** Reads the row of STATUS. */
export function readStatus(row: object | undefined): ServerStatus {
  if (!row) throw new Error('the server did not report its position')
  const { system, isStandby, position, timeline } = row as Omit<ServerStatus, 'position'> & {
    position: string
  }
  return { system, isStandby, position: BigInt(position), timeline }
}

/** @throws as Connection.query() */
export async function queryStatus(connection: Connection, timeoutMs: number): Promise<ServerStatus> {
  const [row] = (await connection.query(STATUS, timeoutMs)) as object[]
  return readStatus(row)
}

/** Asks one server for its status again and again, on a connection of its own, which no request can keep busy. */
export class StatusProbe {
  #connection: Connection | undefined
  #isClosed = false

  constructor(private readonly open: Open) {}

  /** @throws as opening a connection, or as queryStatus() */
  async query(timeoutMs: number): Promise<ServerStatus> {
    const deadline = performance.now() + timeoutMs
    const connection = await this.#connect(timeoutMs)
    if (this.#isClosed) await this.close()
    return await queryStatus(connection, deadline - performance.now())
  }

  async #connect(timeoutMs: number): Promise<Connection> {
    const kept = this.#connection?.isClosed ? undefined : this.#connection
    if (kept && performance.now() <= kept.expiresAt) return kept
    // A server without room for a new connection is asked on the old one.
    const opened = kept ? await this.open(timeoutMs / 2).catch(() => kept) : await this.open(timeoutMs)
    if (opened !== kept) void kept?.close()
    this.#connection = opened
    return opened
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const connection = this.#connection
    this.#connection = undefined
    if (connection && !connection.isClosed) await connection.close()
  }
}
