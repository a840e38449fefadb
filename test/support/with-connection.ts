import postgres, { type Sql } from 'postgres'

/** Calls `work` with a new connection to a Postgres server, and closes the connection afterwards. */
export async function withConnection<Result>(
  url: string,
  work: (sql: Sql) => PromiseLike<Result>,
): Promise<Result> {
  const sql = postgres(url, { max: 1, onnotice: () => {}, connect_timeout: 5, idle_timeout: 0 })
  try {
    return await work(sql)
  } finally {
    await sql.end({ timeout: 0 })
  }
}
