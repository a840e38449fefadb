import postgres from 'postgres'
import type { OwnCluster } from './own-cluster.ts'

/**
 * Suspends all processes of a Postgres by SIGSTOP and returns their ids. The postmaster is the first, so that it starts
 * no new backends.
 */
export async function stopProcesses(cluster: OwnCluster): Promise<number[]> {
  const main = cluster.pid
  const sql = postgres(cluster.url(), { max: 1, onnotice: () => {} })
  await sql`select 1`
  signal(main, 'SIGSTOP')
  const others = await sql<{ pid: number }[]>`select pid from pg_stat_activity where pid <> pg_backend_pid()`
  // The backend of this connection ends with the connection.
  await sql.end({ timeout: 5 })
  for (const { pid } of others) signal(pid, 'SIGSTOP')
  return [main, ...others.map(({ pid }) => pid)]
}

/** Whether a process with this id runs, under any user. */
export function isAlive(pid: number): boolean {
  try {
    return signal(pid, 0)
  } catch {
    return true
  }
}

/** Sends a signal to a process. Returns false if the process does not exist. */
export function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}
