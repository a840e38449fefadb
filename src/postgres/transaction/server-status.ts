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
