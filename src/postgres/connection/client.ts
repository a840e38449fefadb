import type { Socket } from 'node:net'
import postgres, { type Options, type PendingQuery, type PostgresType, type Row, type Sql } from 'postgres'
import type { PostgresUrl } from './url.ts'

/** Parameters of the server for one connection, sent when it starts. */
export type Parameters = Record<string, string>

const COMMON: Parameters = {
  application_name: 'axport',
  TimeZone: 'UTC',
  // A date is read back as it was written: it is part of a remembered position.
  DateStyle: 'ISO',
}

/** postgres.js on sockets that openSocket() has opened: it only speaks the protocol. */
export function client(
  { login }: PostgresUrl,
  parameters: Parameters,
  socket: () => Promise<Socket>,
  options: Options<Record<string, PostgresType>>,
): Sql {
  const all = {
    ...login,
    connection: { ...COMMON, ...parameters },
    onnotice: () => {},
    // openSocket() does both.
    ssl: false,
    keep_alive: 0,
    connect_timeout: 0,
    socket,
    ...options,
  }
  return postgres(all)
}

/** The result of Runner.unsafe() as raw rows: a query of postgres.js needs raw(), ServingDatabase returns them. */
export function rawRows(rows: PromiseLike<object>): PromiseLike<object> {
  return 'raw' in rows ? (rows as PendingQuery<Row[]>).raw() : rows
}
