import type { Connection } from '../../postgres/connection/connection.ts'
import { timeoutError } from '../../postgres/failures.ts'
import { staleConnections } from '../../postgres/pool/stale-backends.ts'

/** Milliseconds without a byte, after which somebody looks. */
const SILENCE = 30_000

/** Milliseconds for an answer of the platform. */
const PATIENCE = 10_000

/**
 * Ends a connection whose platform is gone without a word: a machine that lost its power closes nothing, and a
 * firewall that forgets says nothing either. A query that takes long is as silent, so the platform is asked, on another
 * connection: the first one ends when nobody answers, or when twice in a row its process there is not at work.
 * @param connect opens the other connection
 * @returns lets go of it
 */
export function watchOver(
  connection: Connection,
  connect: () => Promise<Connection>,
  after = SILENCE,
): () => void {
  let suspicions = 0
  let isLooking = false
  const look = async () => {
    const silent = connection.silentMs(performance.now())
    if (silent < after) suspicions = 0
    if (connection.isOver || isLooking || silent < after) return
    isLooking = true
    try {
      suspicions = (await isForgotten(connection, connect, after)) ? suspicions + 1 : 0
      if (suspicions === 2) connection.destroy(timeoutError())
    } catch (error) {
      // A server that refuses the other connection is there.
      const { name, code } = error as { name?: string; code?: string }
      if (name !== 'PostgresError' && code !== 'NOT_WANTED') connection.destroy(timeoutError())
    } finally {
      isLooking = false
    }
  }
  const timer = setInterval(look, after / 2)
  return () => clearInterval(timer)
}

async function isForgotten(
  connection: Connection,
  connect: () => Promise<Connection>,
  idle: number,
): Promise<boolean> {
  const witness = await connect()
  try {
    return (await staleConnections(witness, [connection], idle, PATIENCE)).length > 0
  } finally {
    witness.destroy()
  }
}
