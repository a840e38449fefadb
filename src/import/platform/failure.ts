import { connectionFailure, verdictOn, wouldHideRows } from '../../database/failures.ts'
import { Failure } from '../../errors.ts'
import { lineAt, type Query } from './queries.ts'

/** Errors of the platform's database, in words: without its URL, and without values of rows. */

/** What has its URL: PLATFORM_URL, or the file of --from-file. */
const THE_URL = 'the URL of the platform'

/** The command that checks the connection and the queries, and loads nothing. */
const CHECK = 'axport import … --queries DIR --dry-run'

/** An error about DATABASE_URL as one about the URL of the platform. */
const ofPlatform = (message: string) =>
  message.replace('DATABASE_URL_FILE', '--from-file').replaceAll('DATABASE_URL', THE_URL)

/** A connection that could not be made. */
export function unreachable(error: unknown): Failure {
  const { code = 'unknown error' } = error as { code?: string }
  if (code === '3D000')
    return new Failure(
      `cannot reach the platform: it has no database of the name in ${THE_URL}: correct the name there, then check it by ${CHECK}`,
      { cause: error },
    )
  if (/^42(?!501|704)/.test(code))
    return new Failure(
      `cannot read the platform: it lacks something that every Postgres has (SQLSTATE ${code}): is Postgres itself behind ${THE_URL}?`,
      { cause: error },
    )
  const failure = connectionFailure(error)
  if (failure instanceof Failure) {
    const message = failure.message.replace('cannot reach the database', 'cannot reach the platform')
    return new Failure(ofPlatform(message).replace('axport doctor', CHECK), { cause: error })
  }
  return new Failure(`cannot reach the platform: it refuses connections (${code})`, { cause: error })
}

/** The error for an invalid URL. */
export function unreadable(error: unknown): unknown {
  if (!(error instanceof Failure)) return error
  if (/must be postgres:/.test(error.message))
    return new Failure(`${THE_URL} must be postgres://user:password@host:port/name`)
  return new Failure(ofPlatform(error.message))
}

interface PostgresError {
  name?: string
  code?: string
  message?: string
  position?: string
}

/**
 * The error for a query that failed or lost its connection.
 * @param statement the text that was sent, with the query in it
 */
export function queryFailure(error: unknown, query: Query, statement: string): unknown {
  if (error instanceof Failure) return error
  const { name, position, code = '' } = error as PostgresError
  const verdict = verdictOn(error)
  const { file } = query
  if (verdict === 'cut')
    return new Failure(
      `${file}: the platform went away before all was read; nothing was loaded: run the same command again`,
      { cause: error },
    )
  if (name !== 'PostgresError') return error
  const line = position === undefined ? undefined : lineAt(query, statement, Number(position))
  const where = line === undefined ? file : `${file} line ${line}`
  const message = `${where}: ${reason(error as PostgresError)} (SQLSTATE ${code})${wouldHideRows(error) ? ON_POLICY : adviceOn(code, file)}`
  return new Failure(message, { cause: error })
}

/**
 * The server's message without personal data. In data exceptions (class 22), text after a colon or in quotes may be a
 * value of a row. A function of the platform may raise any text.
 */
function reason({ code = '', message = '' }: PostgresError): string {
  const text = message.replaceAll(/\s+/g, ' ')
  if (/^(0A|25|3F|40|42|53|54|55|57)/.test(code)) return text
  if (code.startsWith('22'))
    return text.replace(/[:：].*$/, '').replaceAll(/["«»„“”‘’‹›「」'].*["«»„“”‘’‹›「」']/g, '…')
  return 'the platform refused'
}

/** What to do about row level security, which has the code of a missing privilege. */
const ON_POLICY = `: a policy hides rows from the role in ${THE_URL}: alter role … bypassrls there; to read only what the policy shows, add options=-c%20row_security%3Don to the URL`

/** What a query names and the platform does not have, or not where the role looks for it, by SQLSTATE. */
const MISSING: Record<string, string> = {
  '42883': 'such function or operator for these types',
  '42P01': 'such table',
  '42704': 'such type',
  '3F000': 'such schema',
}

function adviceOn(code: string, file: string): string {
  if (code === '22021' || code === '22P05')
    return ': a text is not in the encoding that its database says; mend it there, or convert it in the query'
  if (code === '25006') return ': a query may only read'
  if (code === '42501')
    return `: grant it to the role in ${THE_URL} (usage on the schema, select on the table), then check it by ${CHECK}`
  const missing = MISSING[code]
  if (missing)
    return `: the platform has no ${missing}: create it there, write its schema before its name, or correct ${file}; then check it by ${CHECK}`
  if (code.startsWith('42')) return `: correct ${file}, then check it by ${CHECK}`
  return ''
}
