import type { Deployment, World } from './world.ts'

/** A query as a service sent it to Postgres, with its parameters as SQL literals. */
export interface SentQuery {
  text: string
  literals: string[]
}

/** A line of Postgres' log in JSON, as far as it is read here. */
interface LogLine {
  dbname?: string
  message?: string
  detail?: string
}

/**
 * The queries that new connections to a deployment's database send during `work`, in their order. The Postgres must be
 * the benchmark's own: its log is JSON.
 */
export async function sentQueries(
  { sql }: World,
  { databaseUrl }: Deployment,
  work: () => Promise<unknown>,
): Promise<SentQuery[]> {
  const database = new URL(databaseUrl).pathname.slice(1)
  const readLog = async () => {
    const [row] = await sql<{ text: string }[]>`select pg_read_file(pg_current_logfile('jsonlog')) as text`
    return row?.text ?? ''
  }
  const earlier = (await readLog()).length
  await sql`alter database ${sql(database)} set log_statement = 'all'`
  try {
    await work()
  } finally {
    await sql`alter database ${sql(database)} reset log_statement`
  }
  const lines = (await readLog()).slice(earlier).split('\n').filter(Boolean)
  return lines
    .map(line => JSON.parse(line) as LogLine)
    .filter(({ dbname }) => dbname === database)
    .flatMap(queryOf)
}

/** The query of a line; none if the line is of another kind, or of a command such as BEGIN or INSERT. */
function queryOf({ message = '', detail = '' }: LogLine): SentQuery[] {
  const [, text] = /^(?:execute [^:]+|statement): (\s*(?:select|with)\b.*)$/is.exec(message) ?? []
  if (text === undefined) return []
  // A literal may contain what looks like the next parameter, and is read to its end first.
  const literals = [...detail.matchAll(/\$\d+ = (NULL|'(?:[^']|'')*')/g)].map(
    ([, literal]) => literal as string,
  )
  return [{ text, literals }]
}
