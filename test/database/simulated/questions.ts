import {
  ClientGone,
  DatabaseUnavailable,
  Displaced,
  StatementTimeout,
} from '../../../src/database/failures.ts'
import { CUT } from '../../support/wordings.ts'
import type { Setting } from './plan.ts'
import type { Ending, Statement } from './process.ts'
import type { SimulatedWire } from './wire.ts'

/** A lease of a plan, and what has happened to it. */
export interface Question {
  readonly id: number
  readonly lane: string
  readonly statements: Statement[]
  /** Whether it is one statement, without a lease of its own. */
  readonly isSingle: boolean
  readonly isForRequest: boolean
  /** The longest time, in milliseconds, for which the lease sends nothing. */
  readonly pause: number
  readonly client: AbortController
  readonly askedAt: number
  /** The deadline of the request. */
  deadline: number
  /** The time by which the lease must be over. */
  endsBy: number
  /**
   * The time by which the lease must be over because its client has disconnected, as long as connections
   * work.
   */
  cancelledBy: number
  /** The time by which its work must end, if it has begun. */
  workEndsBy: number
  /** The time when the first statement was last sent. */
  sentAt: number
  /** For each statement, the number of times that a server has started it. */
  readonly begun: number[]
  /** Whether its work fails after its statements, before it ends its transaction. */
  readonly failsItself: boolean
  /** Whether its work is doing something else, between two statements. */
  isPausing: boolean
  /** Whether a server has failed a statement. */
  hasFailed: boolean
  /** Whether the database has been well for all of its life. */
  isCalm: boolean
  /** An upper bound of the number of connections that had been lost before it was asked. */
  readonly lostBefore: number
  /** Whether the rows of the only statement arrived while the program was suspended. */
  hasCome: boolean
  outcome?: Outcome
}

/** One call of the work of a lease. */
export interface Run {
  readonly question: Question
  /** The connection on which it has sent its statements. */
  wire?: SimulatedWire
  sent: number
  /** Whether a server has failed one of them. */
  hasFailed: boolean
}

/** An error of the work itself. */
export class OwnError extends Error {}

export type Outcome = { rows: object } | { error: unknown }

/** Beyond its time, a lease has this for the report of the server. */
const GRACE = 1000

/** What has to be left of its time for a lease to be repeated. */
const REPETITION = 500

const mayRepeat = (deadline: number, now: number) => now + REPETITION <= deadline - GRACE

/** Further facts at the end of a statement. */
export interface Circumstances {
  now: number
  setting: Setting
  isClosed: boolean
  /** An upper bound of the number of connections that were cut or lost so far. */
  lost: number
  /** Whether displace() is running. */
  isDisplacing: boolean
}

/** The reasons of a 503, by the way in which the statement ends. */
const REASONS: Partial<Record<Ending, RegExp>> = {
  deadlock: /40P01/,
  'no-memory': /53200/,
  'disk-full': /disk of the database is full/,
}

/** The fault in the outcome of a statement; undefined if there is none. */
export function wrongOutcome(
  question: Question,
  outcome: Outcome,
  around: Circumstances,
): string | undefined {
  const { id, client, statements, hasCome, askedAt } = question
  if ('rows' in outcome) {
    if (question.failsItself) return 'the error of the work is lost'
    const right = JSON.stringify(statements.map((_, place) => ({ id, place })))
    const rows = JSON.stringify(outcome.rows)
    return rows === right ? undefined : `the answer to another question: ${rows}`
  }
  const { error } = outcome
  if (client.signal.aborted) return error instanceof ClientGone ? undefined : `no hang-up: ${error}`
  if (hasCome && !around.isClosed) return `its answer had come, and it failed: ${error}`
  if (error instanceof OwnError) return question.failsItself ? undefined : 'the work has not failed'
  if (error instanceof Displaced) return around.isDisplacing ? undefined : 'displaced for nobody'
  if (error instanceof StatementTimeout)
    return around.now - askedAt < around.setting.statement ? 'out of time too early' : undefined
  if (error instanceof DatabaseUnavailable) return wrongReason(error.reason, question, around)
  const { code } = error as { code?: string }
  const isWrong = statements.some(({ ends }) => ends === 'wrong')
  return isWrong && code === '22P02' ? undefined : `an error of its own: ${error}`
}

function wrongReason(
  reason: string,
  { statements, askedAt, deadline, isForRequest, isCalm, lostBefore }: Question,
  { now, setting, isClosed, lost }: Circumstances,
): string | undefined {
  // A request repeats a lease whose connection was cut, if there is time.
  const isRepeated =
    isForRequest && statements.every(({ ends }) => ends === 'rows') && mayRepeat(deadline, now)
  let isTrue = !isCalm || statements.some(({ ends }) => REASONS[ends]?.test(reason))
  if (reason === 'all connections to the database are in use')
    isTrue = now - askedAt >= setting.wait || now >= deadline - GRACE
  if (reason === 'the service is stopping') isTrue = isClosed
  // A connection that was opened in an outage may lead to the second host, a standby, as long as it is used.
  if (reason === 'the database is read-only')
    isTrue = statements.some(({ isWrite }) => isWrite) && (!isCalm || setting.hosts > 1)
  if (reason === CUT) isTrue = isClosed || lost - lostBefore > (isRepeated ? 1 : 0)
  return isTrue ? undefined : `unavailable without a cause: ${reason}`
}
