import type { Connection, Open } from '../connection/connection.ts'

/** What a server says of itself. */
export interface Look {
  /** The system identifier: all servers of a cluster have the same, and no other cluster has it. */
  system: string
  isStandby: boolean
  /** In bytes of the log of writes: what a primary has written, or a standby has replayed. */
  position: bigint
  timeline: number
}

/** Every role may call these functions. A standby says its timeline as it has recorded it last. */
export const LOOK = `
  select (select system_identifier from pg_control_system())::text as system, pg_is_in_recovery() as "isStandby",
    coalesce(case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end - '0/0', 0)::text
      as position,
    case when pg_is_in_recovery() then greatest(
      (select timeline_id from pg_control_checkpoint()), (select min_recovery_end_timeline from pg_control_recovery()))
    else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer end as timeline`

/** Reads the row of LOOK. */
export function readLook(row: object | undefined): Look {
  if (!row) throw new Error('the server did not say where it is')
  const { system, isStandby, position, timeline } = row as Omit<Look, 'position'> & { position: string }
  return { system, isStandby, position: BigInt(position), timeline }
}

/** @throws as Connection.ask() */
export async function lookThrough(connection: Connection, patience: number): Promise<Look> {
  const [row] = (await connection.ask(LOOK, patience)) as object[]
  return readLook(row)
}

/** Looks at one server again and again, over a connection that serves nothing else: no line is in front of it. */
export class Onlooker {
  #connection: Connection | undefined
  #isClosed = false

  constructor(private readonly open: Open) {}

  /** @throws what opening a connection throws, or asking over it */
  async look(patience: number): Promise<Look> {
    const deadline = performance.now() + patience
    const kept = this.#connection?.isOver ? undefined : this.#connection
    const isTooOld = kept !== undefined && performance.now() > kept.bestBefore
    const connection = isTooOld
      ? await this.#renewed(kept, patience / 2)
      : (kept ?? (await this.#open(patience)))
    if (this.#isClosed) await this.#leave()
    return await lookThrough(connection, deadline - performance.now())
  }

  async #open(patience: number): Promise<Connection> {
    this.#connection = await this.open(patience, () => {})
    return this.#connection
  }

  /** A server that has no room for another connection is looked at through the old one. */
  async #renewed(kept: Connection, patience: number): Promise<Connection> {
    const renewed = await this.#open(patience).catch(() => kept)
    if (renewed !== kept) void kept.close()
    return renewed
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#leave()
  }

  async #leave(): Promise<void> {
    const connection = this.#connection
    this.#connection = undefined
    if (connection && !connection.isOver) await connection.close()
  }
}
