import type { Socket } from 'node:net'
import postgres, { type PostgresType, type Sql } from 'postgres'

/** As whom to connect and to which database; by default as the user of this process, to one of the same name. */
export interface Login {
  user: string | undefined
  password: string | undefined
  database: string | undefined
}

/** Parameters of the server for a connection, sent with its start. */
export type Parameters = Record<string, string>

interface ClientOptions {
  /** Connections at most. */
  max: number
  prepare: boolean
  /** Whether to ask each connection for the types of arrays. */
  fetch_types?: boolean
  types?: Record<string, PostgresType>
  max_lifetime?: null
  /** Seconds until a connection is ready for statements, once its socket is open; 0 for as long as it takes. */
  connect_timeout?: number
  onclose?: () => void
}

const COMMON: Parameters = {
  application_name: 'axport',
  TimeZone: 'UTC',
  // A day is read back as it was written: it is where a page ended.
  DateStyle: 'ISO',
}

/** postgres.js over sockets that are open already, and encrypted where they are to be: it speaks the protocol, no more. */
export function client(
  { user, password, database }: Login,
  parameters: Parameters,
  socket: () => Promise<Socket>,
  options: ClientOptions,
): Sql {
  const all = {
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
    ...(database !== undefined && { database }),
    connection: { ...COMMON, ...parameters },
    onnotice: () => {},
    // Whoever opens the socket sees to these.
    ssl: false,
    keep_alive: 0,
    connect_timeout: 0,
    socket,
    ...options,
  }
  return postgres(all)
}
