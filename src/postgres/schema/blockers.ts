import type { Sql } from 'postgres'

/** Who holds a lock that somebody else waits for. Neither its statement nor its user is told. */
interface Blocker {
  pid: number
  /** What it calls itself: application_name. */
  program: string | null
  /** As pg_stat_activity has it; null to a role that may not see. */
  state: string | null
  /** The beginning of its transaction; null to a role that may not see. */
  since: Date | null
}

/** Milliseconds between two looks. */
const ROUND = 500

/**
 * Looks again and again who blocks a process of the server, on another connection than that one.
 * @returns a function that ends it, and gives those who were seen last, in words
 */
export function watchBlockers(db: Sql, pid: number): () => Promise<string | undefined> {
  let seen: string | undefined
  const look = async () => {
    const blockers = await blockersOf(db, pid).catch(() => [])
    if (blockers.length > 0) seen = blockers.map(inWords).join('; ')
  }
  let looking: Promise<void> | undefined
  const timer = setInterval(() => {
    // The connections may all be in use: one question waits, and not one a round.
    looking ??= look().finally(() => {
      looking = undefined
    })
  }, ROUND)
  return async () => {
    clearInterval(timer)
    await looking
    return seen
  }
}

async function blockersOf(db: Sql, pid: number): Promise<Blocker[]> {
  return await db<Blocker[]>`
    select pid, nullif(application_name, '') as program, state, xact_start as since
    from pg_stat_activity where pid = any (pg_blocking_pids(${pid})) order by xact_start`
}

function inWords({ pid, program, state, since }: Blocker): string {
  const known = [`pid ${pid}`, state, since && `since ${since.toISOString()}`].filter(Boolean)
  return `${program ?? 'a program without a name'} (${known.join(', ')})`
}
