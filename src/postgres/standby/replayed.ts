import type { Sql } from 'postgres'
import { openFirst } from '../connection/opening.ts'
import { reasonOf } from '../failures.ts'
import { whyNoStandby } from './fitness.ts'
import { LOOK, type Look, Onlooker, readLook } from './look.ts'
import type { ReadServer } from './read-servers.ts'

/** Milliseconds for one look: a command has more time than a request. */
const PATIENCE = 5000

/** Milliseconds between two looks at a standby that has not replayed enough. */
const PAUSE = 100

/** A standby that has not replayed what was waited for, and why, in words for people. */
export interface Unreplayed {
  name: string
  why: string
}

/** Bytes at the beginning of a page of the log of writes that are no part of any record, at most. */
const HEADER = 40n

/**
 * The end of all that has been written so far: a standby that has replayed it has replayed every commit that was over.
 * @param position where the next record begins; behind the header of a page, when the last one ended just before it
 * @param page bytes of a page
 */
export function endOfLast(position: bigint, page: bigint): bigint {
  const within = position % page
  return within <= HEADER ? position - within : position
}

/** Where the primary is now, behind every change that was committed before. */
export async function present(db: Sql): Promise<Look> {
  // Not what is written out already: of a commit with synchronous_commit=off that comes later.
  const rows = await db.unsafe(`
    select look.*, current_setting('wal_block_size') as page,
      case when "isStandby" then position else (pg_current_wal_insert_lsn() - '0/0')::text end as next
    from (${LOOK}) as look`)
  const [row] = rows as unknown as { page: string; next: string }[]
  const look = readLook(row)
  return { ...look, position: endOfLast(BigInt(row?.next ?? 0), BigInt(row?.page ?? 8192)) }
}

/**
 * Waits until every server has replayed what the primary had written.
 * @param primary present()
 * @param patience milliseconds
 * @param mayBePrimary whether the primary among the servers is right: it has every change
 * @returns those that have not by then
 */
export async function unreplayed(
  servers: ReadServer[],
  primary: Look,
  patience: number,
  mayBePrimary = false,
): Promise<Unreplayed[]> {
  const deadline = performance.now() + patience
  const found = await Promise.all(servers.map(server => whyNot(server, primary, deadline, mayBePrimary)))
  return servers.flatMap(({ name }, at) => (found[at] === undefined ? [] : [{ name, why: found[at] }]))
}

async function whyNot(
  { url }: ReadServer,
  primary: Look,
  deadline: number,
  mayBePrimary: boolean,
): Promise<string | undefined> {
  const onlooker = new Onlooker((patience, onEnd) => openFirst(url(), {}, patience, onEnd))
  /** Whether waiting may help, and why not yet. */
  const look = async (): Promise<{ mayPass: boolean; why?: string }> => {
    try {
      const left = deadline - performance.now()
      const look = await onlooker.look(left > PAUSE ? Math.min(left, PATIENCE) : PATIENCE)
      // One that was promoted has a timeline of its own.
      const isOfPrimary = look.system === primary.system && look.timeline === primary.timeline
      if (mayBePrimary && !look.isStandby && isOfPrimary) return { mayPass: false }
      const why = whyNoStandby(look, primary)
      if (why !== undefined) return { mayPass: false, why }
      const bytes = primary.position - look.position
      return bytes > 0n ? { mayPass: true, why: `it is ${bytes} bytes behind` } : { mayPass: false }
    } catch (error) {
      return { mayPass: true, why: reasonOf(error) }
    }
  }
  try {
    for (;;) {
      const { mayPass, why } = await look()
      if (!mayPass || performance.now() + PAUSE > deadline) return why
      await Bun.sleep(PAUSE)
    }
  } finally {
    await onlooker.close()
  }
}
