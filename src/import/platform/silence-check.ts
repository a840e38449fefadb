import type { Connection } from '../../postgres/connection/connection.ts'
import { timeoutError } from '../../postgres/failures.ts'
import { staleConnections } from '../../postgres/pool/statement-monitor.ts'

/** Time without a byte after which a connection is checked. */
const SILENCE_MS = 30_000

/** Time for an answer of the platform. */
const ANSWER_TIMEOUT_MS = 10_000

/**
 * Ends a connection whose platform disappeared without closing it: a machine lost its power, or a firewall dropped the
 * connection. A long query is as silent. So a probe on another connection asks the platform; the first connection ends
 * when the probe gets no answer, or when its server process is stale twice in a row.
 * @param connect opens the connection of the probe
 * @returns ends the checks
 */
export function startSilenceCheck(
  connection: Connection,
  connect: () => Promise<Connection>,
  silenceMs = SILENCE_MS,
): () => void {
  let staleInARow = 0
  let isChecking = false
  const check = async () => {
    const isSilent = connection.silentMs(performance.now()) >= silenceMs
    if (!isSilent) staleInARow = 0
    if (connection.isClosed || isChecking || !isSilent) return
    isChecking = true
    try {
      staleInARow = (await isStale(connection, connect, silenceMs)) ? staleInARow + 1 : 0
      if (staleInARow === 2) connection.destroy(timeoutError())
    } catch (error) {
      // A server that refuses the probe is there.
      const { name, code } = error as { name?: string; code?: string }
      if (name !== 'PostgresError' && code !== 'NOT_WANTED') connection.destroy(timeoutError())
    } finally {
      isChecking = false
    }
  }
  const timer = setInterval(check, silenceMs / 2)
  return () => clearInterval(timer)
}

async function isStale(
  connection: Connection,
  connect: () => Promise<Connection>,
  idleMs: number,
): Promise<boolean> {
  const probe = await connect()
  try {
    return (await staleConnections(probe, [connection], idleMs, ANSWER_TIMEOUT_MS)).length > 0
  } finally {
    probe.destroy()
  }
}
