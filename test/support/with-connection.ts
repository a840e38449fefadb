import postgres, { type Sql } from 'postgres'

/**
 * Calls `work` with a new connection to a Postgres server, and closes the connection afterwards. Ask a server that may
 * crash with `fetch_types: false`: postgres.js reads the array types of a new connection in a promise of its own, and a
 * server that ends the connection meanwhile makes that an unhandled rejection, which no `work` can catch.
 */
export async function withConnection<Result>(
  url: string,
  work: (sql: Sql) => PromiseLike<Result>,
  options: { fetch_types?: boolean } = {},
): Promise<Result> {
  const sql = postgres(url, { max: 1, onnotice: () => {}, connect_timeout: 5, idle_timeout: 0, ...options })
  try {
    return await work(sql)
  } finally {
    await sql.end({ timeout: 0 })
  }
}
