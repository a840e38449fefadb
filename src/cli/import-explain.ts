import { Failure } from '../errors.ts'
import { type Explained, explainQueries } from '../import/platform/explain.ts'
import { print, printTable } from './output.ts'
import { type FromPlatform, readPlatform } from './platform.ts'

/**
 * Tells what the columns of each query are, and loads nothing.
 * @throws Failure when a query does not run, or lacks a column
 */
export async function explainImport(options: FromPlatform & { json?: true }): Promise<void> {
  const { url, queries } = readPlatform(options)
  const explained = await explainQueries(url, queries)
  if (options.json) await print(`${JSON.stringify(explained)}\n`)
  else await printTable(['', 'found', 'missing', 'left out', 'unknown'], explained.map(rowOf))
  for (const { error } of explained) if (error !== undefined) process.stderr.write(`${error}\n`)
  const bad = explained.filter(({ missing, error }) => missing.length > 0 || error !== undefined)
  if (bad.length > 0)
    throw new Failure(
      `${bad.map(({ file }) => file).join(', ')}: nothing can be loaded before that is mended`,
    )
}

function rowOf({ file, found, missing, left_out, unknown, error }: Explained): string[] {
  if (error !== undefined) return [file, 'does not run', '', '', '']
  return [file, ...[found, missing, left_out, unknown].map(names => names.join(', ') || '-')]
}
