import { Failure, TransientFailure } from '../../errors.ts'
import { connectionFailure, verdictOn } from '../../postgres/failures.ts'
import { lineAt, type Query } from './queries.ts'

/** What goes wrong with the platform's database, in words: never its URL, and no value of a row. */

/** Under which name its URL is given. */
const URL_OPTION = '--from'

/** A connection that could not be made. */
export function unreachable(error: unknown): Failure {
  const failure = connectionFailure(error)
  if (failure instanceof Failure) {
    const message = failure.message.replace('cannot reach the database', 'cannot reach the platform')
    return new TransientFailure(message.replaceAll('DATABASE_URL', URL_OPTION), { cause: error })
  }
  const { code = 'unknown error' } = failure as { code?: string }
  return new TransientFailure(`cannot reach the platform: it refuses connections (${code})`, { cause: error })
}

/** A URL that cannot be read. */
export function unreadable(error: unknown): unknown {
  if (!(error instanceof Failure)) return error
  if (/must be postgres:/.test(error.message))
    return new Failure(`${URL_OPTION} must be postgres://user:password@host:port/name`)
  return new Failure(error.message.replaceAll('DATABASE_URL', URL_OPTION))
}

interface PostgresError {
  name?: string
  code?: string
  message?: string
  position?: string
}

/**
 * A query that failed, or whose connection went away.
 * @param statement the text around it that was sent
 */
export function queryFailure(error: unknown, query: Query, statement: string): unknown {
  if (error instanceof Failure) return error
  const { name, position, code = '' } = error as PostgresError
  const verdict = verdictOn(error)
  const { file } = query
  if (verdict === 'cut')
    return new TransientFailure(`${file}: the platform went away before all was read; nothing was loaded`, {
      cause: error,
    })
  if (name !== 'PostgresError') return error
  const line = position === undefined ? undefined : lineAt(query, statement, Number(position))
  const where = line === undefined ? file : `${file} line ${line}`
  const message = `${where}: ${reason(error as PostgresError)} (SQLSTATE ${code})${adviceOn(code)}`
  return new (verdict === 'unforeseen' ? Failure : TransientFailure)(message, { cause: error })
}

/**
 * The server's message as far as it speaks of the query. What stands behind a colon or in quotes may be a value of a
 * row (data exceptions, class 22), and what a function of the platform raises may be anything.
 */
function reason({ code = '', message = '' }: PostgresError): string {
  const text = message.replaceAll(/\s+/g, ' ')
  if (/^(0A|25|40|42|53|54|55|57)/.test(code)) return text
  if (code.startsWith('22'))
    return text.replace(/[:：].*$/, '').replaceAll(/["«»„“”‘’‹›「」'].*["«»„“”‘’‹›「」']/g, '…')
  return 'the platform refused'
}

function adviceOn(code: string): string {
  if (code === '22021' || code === '22P05')
    return ': a text is not in the encoding that its database says; mend it there, or convert it in the query'
  if (code === '25006') return ': a query may only read'
  if (code === '42501') return ': grant it to the role in --from'
  return ''
}
