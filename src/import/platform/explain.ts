import { parse } from 'csv-parse/sync'
import { Failure } from '../../errors.ts'
import { COLUMNS, REQUIRED_COLUMNS } from '../rows.ts'
import { columnsOf, type Queries, type Query } from './queries.ts'
import { openSnapshot, type Snapshot } from './snapshot.ts'

/** What a query gives, and what an import makes of it. */
export interface Explained {
  file: string
  /** Columns that are read. */
  found: string[]
  /** Columns that must be there, and are not. */
  missing: string[]
  /** Columns that may be there: what they would say stays as it is stored. */
  left_out: string[]
  /** Columns that mean nothing. */
  unknown: string[]
  /** Why it does not run, in place of its columns. */
  error?: string
}

/**
 * Asks the platform for the columns of each query, and runs none of them.
 * @throws Failure for a URL that is none, or a platform that cannot be reached
 */
export async function explainQueries(url: string, { queries }: Queries): Promise<Explained[]> {
  const explained: Explained[] = []
  let snapshot: Snapshot | undefined
  try {
    for (const query of queries) {
      snapshot ??= await openSnapshot(url, undefined, 0)
      const answer = await explain(snapshot, query)
      explained.push(answer)
      if (answer.error === undefined) continue
      // A statement that fails ends its snapshot.
      await snapshot.close()
      snapshot = undefined
    }
  } finally {
    await snapshot?.close()
  }
  return explained
}

async function explain(snapshot: Snapshot, query: Query): Promise<Explained> {
  const { file, type } = query
  try {
    const columns = await headerOf(snapshot, query)
    const required = REQUIRED_COLUMNS[type]
    const lacks = (column: string) => !columns.includes(column)
    return {
      file,
      found: columns.filter(column => COLUMNS[type].includes(column)),
      missing: required.filter(lacks),
      left_out: COLUMNS[type].filter(column => lacks(column) && !required.includes(column)),
      unknown: columns.filter(column => !COLUMNS[type].includes(column)),
    }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return { file, found: [], missing: [], left_out: [], unknown: [], error: error.message }
  }
}

async function headerOf(snapshot: Snapshot, query: Query): Promise<string[]> {
  const chunks: Uint8Array[] = []
  for await (const chunk of snapshot.copy(query, columnsOf(query))) chunks.push(chunk)
  const [header = []] = parse(Buffer.concat(chunks)) as string[][]
  return header.map(name => name.trim().toLowerCase())
}
