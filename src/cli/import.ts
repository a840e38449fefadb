import { Command } from 'commander'
import { Failure } from '../errors.ts'
import { type ImportResult, importSource, MAX_DESCRIBED, type Progress } from '../import/import.ts'
import { openSource } from '../import/lines.ts'
import { print, StatusLine } from './output.ts'
import { withDatabase } from './with-database.ts'

/** axport import FILE */
export function importCommand(): Command {
  return new Command('import')
    .description('Load NDJSON into the database: all of it, or nothing.')
    .argument('<file>', 'one JSON object a line, plain or gzipped; - for standard input')
    .addHelpText(
      'after',
      `
Lines are upserted by type and id, in any order; "deleted": true removes. Bad lines are listed with
their numbers, and then nothing is loaded.

  {"type":"organization","id":12,"name":"Lakeside District"}
  {"type":"product","id":7,"name":"Reading Observation"}
  {"type":"user","id":501,"name":"Ana Ruiz","first_name":"Ana","last_name":"Ruiz"}
  {"type":"assessment","id":9001,"user_id":501,"organization_id":12,"product_id":7,
   "certified_at":"2026-03-01T18:20:00Z","proctor_id":77}   (on one line; or "parts":[{…}])

Example: zcat export.ndjson.gz | axport import -`,
    )
    .action(async (file: string) => {
      const source = openSource(file)
      const status = new StatusLine()
      const result = await withDatabase(({ sql }) =>
        importSource(sql, source, progress => status.show(describe(progress))),
      ).finally(() => status.clear())
      await report(result)
    })
}

async function report(result: ImportResult): Promise<void> {
  if (result.loaded) {
    await print(`loaded ${result.lines} lines\n`)
    return
  }
  for (const { line, reason } of result.problems) process.stderr.write(`line ${line}: ${reason}\n`)
  const more = result.total - result.problems.length
  if (more > 0) process.stderr.write(`… and ${more} more (the first ${MAX_DESCRIBED} are listed)\n`)
  throw new Failure(
    `nothing was loaded: ${result.total} bad ${result.total === 1 ? 'line' : 'lines'}, correct and import again`,
  )
}

function describe(progress: Progress): string {
  if (progress.phase === 'checking') return 'checking references …'
  if (progress.phase === 'loading')
    return `loading ${percent(progress.done, progress.total)} (${progress.done} assessments)`
  const share = progress.size === undefined ? '' : `${percent(progress.bytes, progress.size)} `
  return `reading ${share}(${progress.lines} lines)`
}

function percent(part: number, whole: number): string {
  return `${whole === 0 ? 100 : Math.floor((100 * part) / whole)} %`
}
