import type { Sql } from 'postgres'
import { openFirst } from '../connection/opening.ts'
import { reasonOf } from '../failures.ts'
import type { StandbyAddress } from './addresses.ts'
import { whyNotStandby } from './eligibility.ts'
import { readStatus, type ServerStatus, STATUS, StatusProbe } from './server-status.ts'

/** For one check: a command has more time than a request. */
const CHECK_TIMEOUT_MS = 5000

/** Between two checks of a standby that has not replayed enough. */
const PAUSE_MS = 100

/** A standby that has not replayed the position, and why, for people. */
interface Unreplayed {
  name: string
  why: string
}

/** The header of a page of the WAL has at most so many bytes, which belong to no record. */
const PAGE_HEADER_BYTES = 40n

/**
 * The end of the last record: a standby that has replayed it has replayed every finished commit.
 * @param position where the next record begins: after the header of a page, if the last record ended just before it
 */
export function endOfLast(position: bigint, pageBytes: bigint): bigint {
  const within = position % pageBytes
  return within <= PAGE_HEADER_BYTES ? position - within : position
}

/** The status of the primary, with a position after every change that was committed before. */
export async function primaryStatus(db: Sql): Promise<ServerStatus> {
  // The insert position: a commit with synchronous_commit=off is flushed later.
  const rows = await db.unsafe(`
    select status.*, current_setting('wal_block_size') as page,
      case when "isStandby" then position else (pg_current_wal_insert_lsn() - '0/0')::text end as next
    from (${STATUS}) as status`)
  const [row] = rows as unknown as { page: string; next: string }[]
  return { ...readStatus(row), position: endOfLast(BigInt(row?.next ?? 0), BigInt(row?.page ?? 8192)) }
}

/**
 * Waits until every server has replayed the position of the primary.
 * @param primary primaryStatus()
 * @param mayBePrimary whether the primary itself may be among the servers: it has every change
 * @returns the servers that have not replayed it within `timeoutMs`
 */
export async function unreplayed(
  servers: StandbyAddress[],
  primary: ServerStatus,
  timeoutMs: number,
  mayBePrimary = false,
): Promise<Unreplayed[]> {
  const deadline = performance.now() + timeoutMs
  const found = await Promise.all(servers.map(server => whyNot(server, primary, deadline, mayBePrimary)))
  return servers.flatMap(({ name }, at) => (found[at] === undefined ? [] : [{ name, why: found[at] }]))
}

async function whyNot(
  { url }: StandbyAddress,
  primary: ServerStatus,
  deadline: number,
  mayBePrimary: boolean,
): Promise<string | undefined> {
  const probe = new StatusProbe(async timeoutMs => await openFirst(url(), timeoutMs))
  /** Why it has not replayed the position, and whether waiting may help. */
  const check = async (): Promise<{ mayPass: boolean; why?: string }> => {
    try {
      const leftMs = deadline - performance.now()
      const status = await probe.query(
        leftMs > PAUSE_MS ? Math.min(leftMs, CHECK_TIMEOUT_MS) : CHECK_TIMEOUT_MS,
      )
      // A promoted standby has a timeline of its own.
      const isOfPrimary = status.system === primary.system && status.timeline === primary.timeline
      if (mayBePrimary && !status.isStandby && isOfPrimary) return { mayPass: false }
      const why = whyNotStandby(status, primary)
      if (why !== undefined) return { mayPass: false, why }
      const bytes = primary.position - status.position
      return bytes > 0n ? { mayPass: true, why: `it is ${bytes} bytes behind` } : { mayPass: false }
    } catch (error) {
      return { mayPass: true, why: reasonOf(error) }
    }
  }
  try {
    for (;;) {
      const { mayPass, why } = await check()
      if (!mayPass || performance.now() + PAUSE_MS > deadline) return why
      await Bun.sleep(PAUSE_MS)
    }
  } finally {
    await probe.close()
  }
}
