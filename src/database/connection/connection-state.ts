/** What a connection does. The names are PgBouncer's where it has one. */
export type ConnectionState =
  | { is: 'opening' }
  /** By the clock. */
  | Idle
  /** Somebody has taken it, and may be between two statements. */
  | Running
  /** The server is asked whether it still answers, and is of the kind asked for. If not, the connection is closed. */
  | { is: 'testing'; next: Idle | Running }
  /** A cancel request is on its way. Nobody else may get the connection: the request would hit the next statement. */
  | { is: 'cancelling'; next: Idle | Running | Closed }
  | Closed

type Idle = { is: 'idle'; since: number }
/** `until`: when the time of whoever has taken it is over, by the clock. `lane`: who that is. */
type Running = { is: 'running'; until: number; lane: string }
type Closed = { is: 'closed'; why: unknown }

/**
 * The transitions. Connection has no other.
 *
 *     opening      the server answers, and is of the kind asked for      → idle
 *     idle         take()                                                → running
 *     idle         test()                                                → testing, then idle again
 *     running      test()                                                → testing, then running again
 *     running      release(), and the server waits outside a transaction → idle
 *     running      release() while a statement runs                      → cancelling, then closed
 *     running      release() in a transaction                            → closed
 *     running      cancel()                                              → cancelling, then running again
 *     running      giveUp() while a statement runs                       → cancelling, then closed
 *     cancelling   release()                                             → cancelling, then running and at once idle
 *     cancelling   giveUp()                                              → cancelling, then closed
 *     any          destroy(), close(), or the connection ends            → closed
 *
 * A test that fails closes the connection. So does a cancel request of which the server has not said in time that it has
 * accepted it.
 */
export const FOLLOWERS: Record<ConnectionState['is'], readonly ConnectionState['is'][]> = {
  opening: ['idle', 'closed'],
  idle: ['running', 'testing', 'closed'],
  running: ['idle', 'testing', 'cancelling', 'closed'],
  testing: ['idle', 'running', 'closed'],
  cancelling: ['cancelling', 'running', 'closed'],
  closed: [],
}
