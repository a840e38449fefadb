import postgres from 'postgres'
import type { OwnCluster } from './own-cluster.ts'

/** Stops all processes of a Postgres (SIGSTOP), the first one first, so that it makes no new ones; their ids. */
export async function stopProcesses(cluster: OwnCluster): Promise<number[]> {
  const main = cluster.pid
  const sql = postgres(cluster.url(), { max: 1, onnotice: () => {} })
  await sql`select 1`
  signal(main, 'SIGSTOP')
  const others = await sql<{ pid: number }[]>`select pid from pg_stat_activity where pid <> pg_backend_pid()`
  // Not this one: it ends by itself.
  await sql.end({ timeout: 5 })
  for (const { pid } of others) signal(pid, 'SIGSTOP')
  return [main, ...others.map(({ pid }) => pid)]
}

/** false where there is no such process any more. */
export function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}
