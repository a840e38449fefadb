import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import postgres, { type Sql } from 'postgres'
import { importSource } from '../../src/import/import.ts'
import { readQueries } from '../../src/import/platform/queries.ts'
import { type PlatformOptions, platformSource } from '../../src/import/platform/source.ts'
import type { ImportOptions, ImportResult } from '../../src/import/result.ts'
import type { ImportSource } from '../../src/import/source-rows.ts'
import { emptyDatabase } from './cluster.ts'
import { use } from './hooks.ts'

/** The example platform of the documents. */
export const EXAMPLE = join(import.meta.dir, '..', '..', 'docs', 'operate', 'platform-example')
export const QUERIES = join(EXAMPLE, 'queries')

const textOf = (file: string) => readFileSync(join(EXAMPLE, file), 'utf8')

/** A connection to a platform's database. */
export interface Platform {
  sql: Sql
  url: string
  close(): Promise<void>
}

/** Opens a database with the schema of the example, and with its data unless `isEmpty`. */
export async function openPlatform(isEmpty = false): Promise<Platform> {
  const { url, drop } = await emptyDatabase()
  const sql = postgres(url, { max: 4, onnotice: () => {} })
  await sql.unsafe(textOf('schema.sql'))
  if (!isEmpty) await sql.unsafe(textOf('data.sql'))
  const close = async () => {
    await sql.end({ timeout: 1 })
    await drop()
  }
  return { sql, url, close }
}

export const usePlatform = (isEmpty = false): Platform => use(() => openPlatform(isEmpty))

type Reading = Partial<Omit<PlatformOptions, 'queries'>> & { queries?: string }

/** The platform as the source of an import, with the defaults of the command line. */
export function sourceOf(url: string, { queries = QUERIES, ...options }: Reading = {}): ImportSource {
  const usual = { url, feed: 'platform', isFull: false }
  return platformSource({ ...usual, ...options, queries: readQueries(queries) })
}

/** Runs one round of the feed into a database. */
export async function round(
  into: Sql,
  url: string,
  reading: Reading = {},
  options: ImportOptions = {},
): Promise<ImportResult & { since: string | undefined; notes: string[] }> {
  const source = sourceOf(url, reading)
  const result = await importSource(into, source, () => {}, options)
  return { ...result, since: source.feed?.since(), notes: source.notes() }
}

/** The documents of all records by id, to compare two databases. */
export async function exported(sql: Sql): Promise<string[]> {
  const rows = await sql<{ document: string }[]>`select document from export_records order by id`
  return rows.map(({ document }) => document)
}
