import { parse } from 'csv-parse/sync'
import { Failure } from '../../errors.ts'
import { columnsOf, requiredColumns } from '../rows.ts'
import { headerStatement, type Queries, type Query } from './queries.ts'
import { partsWarning } from './since.ts'
import { openSnapshot, type Snapshot } from './snapshot.ts'

/** The columns of a query, and their meaning for an import. */
export interface Explained {
  file: string
  /** Columns that are read. */
  found: string[]
  /** Required columns that are missing. */
  missing: string[]
  /** Optional columns that are missing: their values stay as they are stored. */
  left_out: string[]
  /** Columns without a meaning. */
  unknown: string[]
  /** Why the query fails, in place of its columns. */
  error?: string
  /** Of assessment_parts.sql: see partsWarning(). */
  warning?: string
}

/**
 * Requests the columns of each query from the platform, and the plans of those that choose parts. It runs none of them.
 * @throws Failure for an invalid URL, or a platform that cannot be reached
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
    const [parts, assessments] = (['part', 'assessment'] as const).map(of =>
      queries.find(({ type }) => type === of),
    )
    if (parts && explained.every(isLoadable)) {
      snapshot ??= await openSnapshot(url, undefined, 0)
      const warning = partsWarning(
        await snapshot.plan(parts),
        assessments && (await snapshot.plan(assessments)),
      )
      const answer = explained.find(({ file }) => file === parts.file)
      if (answer && warning) answer.warning = warning
    }
  } finally {
    await snapshot?.close()
  }
  return explained
}

/** Whether a query runs and gives all columns that it needs. */
export const isLoadable = ({ missing, error }: Explained): boolean =>
  missing.length === 0 && error === undefined

async function explain(snapshot: Snapshot, query: Query): Promise<Explained> {
  const { file, type } = query
  try {
    const columns = await headerOf(snapshot, query)
    const known = columnsOf(type)
    const required = requiredColumns(type)
    const missing = known.filter(column => !columns.includes(column))
    return {
      file,
      found: columns.filter(column => known.includes(column)),
      missing: required.filter(column => missing.includes(column)),
      left_out: missing.filter(column => !required.includes(column)),
      unknown: columns.filter(column => !known.includes(column)),
    }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return { file, found: [], missing: [], left_out: [], unknown: [], error: error.message }
  }
}

async function headerOf(snapshot: Snapshot, query: Query): Promise<string[]> {
  const chunks: Uint8Array[] = []
  for await (const chunk of snapshot.copy(query, headerStatement(query))) chunks.push(chunk)
  const [header = []] = parse(Buffer.concat(chunks)) as string[][]
  return header.map(name => name.trim().toLowerCase())
}
