import { Failure } from '../errors.ts'

/** What an operator can do about a database that refuses, by SQLSTATE or by the error of the socket. */
const ADVICE: Record<string, string> = {
  ECONNREFUSED: 'nothing listens there: is Postgres running, and are host and port of DATABASE_URL right?',
  ENOTFOUND: 'its host name is not known: is the host in DATABASE_URL right?',
  EAI_AGAIN: 'its host name can not be resolved right now: is the host in DATABASE_URL right?',
  ETIMEDOUT: 'it does not answer: is the host in DATABASE_URL right, and may this machine reach it?',
  CONNECT_TIMEOUT: 'it does not answer: is the host in DATABASE_URL right, and may this machine reach it?',
  NO_ANSWER:
    'what listens there does not speak Postgres: is it Postgres, and are host and port of DATABASE_URL right?',
  ECONNRESET: 'it closed the connection: is it Postgres that listens there?',
  CONNECTION_CLOSED: 'it closed the connection: is it Postgres that listens there?',
  ENOENT: 'its socket does not exist: is Postgres running, and is the path in DATABASE_URL right?',
  '28P01': 'it refuses the user or password in DATABASE_URL',
  '28000': 'it refuses the user in DATABASE_URL',
  '3D000': 'it has no database of the name in DATABASE_URL: create it with createdb',
  '53300': 'it has no connection left: raise its max_connections, or stop something else',
  '57P03': 'it is starting up or shutting down: try again in a moment',
  '42501': 'the user in DATABASE_URL lacks a privilege',
}

/** What a server that offers no encryption does to a client that asks for it, and what else looks like that. */
const CUT_SHORT = ['ECONNRESET', 'CONNECTION_CLOSED', 'NO_ANSWER']

/** The one-line error for a connection that could not be made; an unknown error comes back as it is. */
export function connectionFailure(error: unknown, url: string): unknown {
  const { code } = error as { code?: string }
  if (code && CUT_SHORT.includes(code) && /[?&](ssl|sslmode)=(?!disable|false)/.test(url)) {
    return new Failure(
      'can not reach the database: DATABASE_URL asks for encryption (sslmode): does the server offer it?',
    )
  }
  const advice = code && ADVICE[code]
  return advice ? new Failure(`can not reach the database: ${advice}`) : error
}
