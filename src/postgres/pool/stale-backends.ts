import type { Connection } from '../connection/connection.ts'

/** A process of a server, and the milliseconds since it began to work or ended that; null unless it waits for us. */
interface Process {
  pid: number
  idle: string | null
}

/**
 * Of connections that wait for an answer, those that cannot get one: a network or a firewall has forgotten them,
 * and the server has finished with their statement, never got it, or cannot get rid of its answer. A statement
 * that is at work is as silent.
 * @param witness a connection to the same server that has answered just now
 * @param idle milliseconds: for so long nothing must have begun or ended there
 * @returns none where a server cannot be asked: behind a pooler, or behind an address that leads to several
 * @param patience milliseconds for the answer; the witness is ended when it does not come, or is an error
 * @throws the error of the witness
 */
export async function staleConnections(
  witness: Connection,
  silent: Connection[],
  idle: number,
  patience: number,
): Promise<Connection[]> {
  const known = silent.filter(({ server }) => server !== undefined && server === witness.server)
  if (known.length === 0) return []
  const processes = (await witness.ask(PROCESSES, patience)) as Process[]
  const idleOf = new Map<number | undefined, number>(
    processes.map(process => [process.pid, Number(process.idle ?? 0)]),
  )
  // One that is gone has nothing to do either.
  return known.filter(({ pid }) => (idleOf.get(pid) ?? Number.POSITIVE_INFINITY) > idle)
}

/** All of them: an array of pids as a parameter would need its type asked for, and there are few. */
const PROCESSES = `
  select pid, case when wait_event in ('ClientRead', 'ClientWrite')
    then extract(epoch from clock_timestamp() - state_change) * 1000 end as idle
  from pg_stat_activity`
