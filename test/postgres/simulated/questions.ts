import {
  ClientGone,
  DatabaseUnavailable,
  Displaced,
  StatementTimeout,
} from '../../../src/postgres/failures.ts'
import type { Setting } from './plan.ts'
import type { Ending, Statement } from './process.ts'

/** A statement of a plan, and its fate. */
export interface Question {
  readonly id: number
  readonly lane: string
  readonly statement: Statement
  readonly isForRequest: boolean
  readonly client: AbortController
  readonly askedAt: number
  /** By the clock, when it has to be over. */
  endsBy: number
  /** By the clock, when it has to be over because its client has hung up, while nothing ends connections. */
  cancelledBy: number
  /** By the clock, when it was last sent. */
  sentAt: number
  /** How often a server has begun with it. */
  begun: number
  /** Whether its rows came while the program was stopped. */
  hasCome: boolean
  outcome?: Outcome
}

export type Outcome = { rows: object } | { error: unknown }

/** What else is known when a statement is over. */
export interface Circumstances {
  now: number
  setting: Setting
  /** Whether nothing has happened yet that ends connections or prevents new ones. */
  isCalm: boolean
  isClosed: boolean
  /** Connections that were cut or lost until now, at most. */
  lost: number
  /** Whether displace() is running. */
  isDisplacing: boolean
}

/** The reasons of a 503, by how the statement ends. */
const REASONS: Partial<Record<Ending, RegExp>> = {
  deadlock: /40P01/,
  'no-memory': /53200/,
  'disk-full': /disk of the database is full/,
}

/** What is wrong with the outcome of a statement; undefined if it is right. */
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
  // A request repeats a statement that was cut.
  const mayLose = isForRequest && statement.ends === 'rows' ? 1 : 0
  let isTrue = !isCalm || REASONS[statement.ends]?.test(reason)
  if (reason === 'all connections to the database are in use') isTrue = now - askedAt >= setting.wait
  if (reason === 'the service is stopping') isTrue = isClosed
  if (reason === 'the connection to the database was lost') isTrue = isClosed || lost > mayLose
  return isTrue ? undefined : `unavailable without a cause: ${reason}`
}
