import { Command } from 'commander'
import type { Header } from '../backup/archive.ts'
import { checkArchive } from '../backup/read.ts'
import { type Progress, restore } from '../backup/restore.ts'
import { describeErased } from './import-report.ts'
import { print, printTable, StatusLine } from './output.ts'
import { percent, timeLeft } from './pace.ts'
import { interruptible } from './signals.ts'
import { withAnySchema } from './with-database.ts'

interface Options {
  check?: true
  json?: true
}

/** axport restore FILE */
export function restoreCommand(): Command {
  return new Command('restore')
    .description('Restore what axport backup wrote into an empty database: all of it, or nothing.')
    .argument('<file>', 'the backup')
    .option('--check', 'only check that the file is whole; needs no database')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
The database is a Postgres or an embedded folder, whichever the backup is of, with nothing in it;
the schema is made where there is none. Run it as the role that is to own the tables, and
axport migrate --grant afterwards. The whole file is checked before anything is written.

Example: axport restore axport.backup`,
    )
    .action(async (file: string, { check, json }: Options) => {
      const header = await checkArchive(file)
      const erased = check ? undefined : await restoreInto(file, header)
      await (json ? printJson(header, erased) : printText(file, header, erased))
    })
}

/** Returns how many erased people were left out. */
async function restoreInto(file: string, header: Header): Promise<number> {
  const status = new StatusLine()
  let isRestored = false
  let phase = ''
  let phaseStart = 0
  const onProgress = (progress: Progress) => {
    const now = performance.now()
    if (progress.phase !== phase) phaseStart = now
    phase = progress.phase
    if (progress.phase === 'tidying') isRestored = true
    if (progress.phase === 'waiting') status.say('waiting for an import to finish …')
    else status.show(() => describe(progress, (now - phaseStart) / 1000))
  }
  try {
    return await interruptible(
      signal => withAnySchema(({ sql }) => restore(sql, file, header, { onProgress, signal })),
      () => (isRestored ? 'interrupted when all was restored' : 'interrupted: nothing was restored'),
    )
  } finally {
    status.clear()
  }
}

/** @param seconds since the phase began */
function describe(progress: Exclude<Progress, { phase: 'waiting' }>, seconds: number): string {
  if (progress.phase === 'indexing') return 'building indexes …'
  if (progress.phase === 'tidying') return 'restored, gathering statistics …'
  const { phase, done, total } = progress
  const what = phase === 'loading' ? 'rows' : 'records'
  return `${phase} ${percent(done, total)} (${done} of ${total} ${what}${timeLeft(done, total, seconds)})`
}

/** What nobody should have to find out later. */
const AS_THEY_WERE = [
  'secrets rotated and integrations disabled since then are as they were: rotate and disable them again',
  'people erased since then are back, but for those with tombstones in this database before: erase them again',
  'answers sent and integrations changed since then are in no record of this database: keep the old one for that',
]

/** @param erased how many people were left out; undefined when nothing was restored */
async function printText(file: string, header: Header, erased?: number): Promise<void> {
  const isRestored = erased !== undefined
  const { made_at, version, schema, time_zone, rows } = header
  await print(
    `${isRestored ? 'restored' : `${file} is whole:`} a backup of ${made_at}, ${ageOf(header)} old, made by axport ${version} (${schema}, ${time_zone})\n`,
  )
  await printTable(
    ['', 'rows'],
    Object.entries(rows).map(([table, count]) => [table, String(count)]),
  )
  for (const note of notesOn(erased)) await print(`${note}\n`)
}

function notesOn(erased: number | undefined): string[] {
  if (erased === undefined) return []
  return [...(erased > 0 ? [describeErased(erased)] : []), ...AS_THEY_WERE]
}

async function printJson(header: Header, erased?: number): Promise<void> {
  const isRestored = erased !== undefined
  const { made_at, version, schema, time_zone, rows } = header
  const age_seconds = secondsSince(made_at)
  const left = isRestored && { erased_left_out: erased }
  const notes = notesOn(erased)
  await print(
    `${JSON.stringify({ restored: isRestored, made_at, age_seconds, version, schema, time_zone, rows, ...left, notes })}\n`,
  )
}

/** None, where the clock of that database was ahead of this one. */
const secondsSince = (time: string) => Math.max(0, Math.floor((Date.now() - Date.parse(time)) / 1000))

const UNITS = [
  ['days', 86_400],
  ['hours', 3600],
  ['minutes', 60],
  ['seconds', 1],
] as const

/** "26 hours": in the largest unit of which it has two; "less than two seconds". */
function ageOf({ made_at }: Header): string {
  const seconds = secondsSince(made_at)
  const found = UNITS.find(([, size]) => seconds >= 2 * size)
  return found ? `${Math.floor(seconds / found[1])} ${found[0]}` : 'less than two seconds'
}
