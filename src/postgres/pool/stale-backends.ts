import type { Connection } from '../connection/connection.ts'

/**
 * Of connections that wait for an answer, those that will never get one: a network or a firewall has dropped them
 * silently, and the server process has finished, has never got the statement, or cannot send its answer. No timeout can
 * tell them from a statement that takes long: only the server knows.
 * @param prober a connection to the same server that has just answered; ended if it does not answer this time
 * @param idleMs for how long the server process must not have worked
 * @returns none if the server cannot be asked: behind a pooler, or behind an address of several servers
 * @throws the error of the prober
 */
export async function staleConnections(
  prober: Connection,
  silent: Connection[],
  idleMs: number,
  timeoutMs: number,
): Promise<Connection[]> {
  const candidates = silent.filter(({ server }) => server !== undefined && server === prober.server)
  if (candidates.length === 0) return []
  const rows = (await prober.query(ACTIVITY, timeoutMs)) as { pid: number; idle: string | null }[]
  const idleMsOf = new Map<number | undefined, number>(rows.map(({ pid, idle }) => [pid, Number(idle ?? 0)]))
  // A process that no longer exists does not work either.
  return candidates.filter(({ backend }) => (idleMsOf.get(backend?.pid) ?? Number.POSITIVE_INFINITY) > idleMs)
}

/** All processes: an array of pids as a parameter would cost a round trip for its type. */
const ACTIVITY = `
  select pid, case when wait_event in ('ClientRead', 'ClientWrite')
    then extract(epoch from clock_timestamp() - state_change) * 1000 end as idle
  from pg_stat_activity`
