import {
  ClientGone,
  DatabaseUnavailable,
  Displaced,
  StatementTimeout,
} from '../../../src/postgres/failures.ts'
import type { Setting } from './plan.ts'
import type { Ending, Statement } from './process.ts'

/** A statement of a plan, and what has happened to it. */
export interface Question {
  readonly id: number
  readonly lane: string
  readonly statement: Statement
  readonly isForRequest: boolean
  readonly client: AbortController
  readonly askedAt: number
  /** The time by which the statement must be over. */
  endsBy: number
  /**
   * The time by which the statement must be over because its client has disconnected, as long as connections
   * work.
   */
  cancelledBy: number
  /** The time when the statement was last sent. */
  sentAt: number
  /** The number of times that a server has started the statement. */
  begun: number
  /** Whether the rows arrived while the program was suspended. */
  hasCome: boolean
  outcome?: Outcome
}

export type Outcome = { rows: object } | { error: unknown }

/** Further facts at the end of a statement. */
export interface Circumstances {
  now: number
  setting: Setting
  /** Whether no event so far has ended connections or prevented new ones. */
  isCalm: boolean
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
  const { id, client, statement, hasCome, askedAt } = question
  if ('rows' in outcome) {
    const [row] = outcome.rows as [{ id: number }?]
    return row?.id === id ? undefined : `the answer to another question: ${JSON.stringify(outcome.rows)}`
  }
  const { error } = outcome
  if (client.signal.aborted) return error instanceof ClientGone ? undefined : `no hang-up: ${error}`
  if (hasCome && !around.isClosed) return `its answer had come, and it failed: ${error}`
  if (error instanceof Displaced) return around.isDisplacing ? undefined : 'displaced for nobody'
  if (error instanceof StatementTimeout)
    return around.now - askedAt < around.setting.statement ? 'out of time too early' : undefined
  if (error instanceof DatabaseUnavailable) return wrongReason(error.reason, question, around)
  const { code } = error as { code?: string }
  return statement.ends === 'wrong' && code === '22P02' ? undefined : `an error of its own: ${error}`
}

function wrongReason(
  reason: string,
  { statement, askedAt, isForRequest }: Question,
  { now, setting, isCalm, isClosed, lost }: Circumstances,
): string | undefined {
  // A request repeats a statement whose connection was cut.
  const mayLose = isForRequest && statement.ends === 'rows' ? 1 : 0
  let isTrue = !isCalm || REASONS[statement.ends]?.test(reason)
  if (reason === 'all connections to the database are in use') isTrue = now - askedAt >= setting.wait
  if (reason === 'the service is stopping') isTrue = isClosed
  if (reason === 'the connection to the database was lost') isTrue = isClosed || lost > mayLose
  return isTrue ? undefined : `unavailable without a cause: ${reason}`
}
