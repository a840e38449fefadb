import type { Header } from '../backup/archive.ts'
import { checkArchive } from '../backup/read.ts'
import { type Progress, restore } from '../backup/restore.ts'
import { newCommand } from './arguments.ts'
import { describeErased } from './erase.ts'
import { print, printJson, printTable, StatusLine } from './output.ts'
import { interruptible } from './process.ts'
import { withAnySchema } from './with-database.ts'

/** axport restore FILE */
export const restoreCommand = () =>
  newCommand(
    'restore',
    'Load a backup into an empty database: all or nothing.',
    `A backup of a Postgres can be loaded into an embedded folder, and the other way round. The database
must have no data; tables are created if there are none. Run the command as the role that will own
the tables, then axport migrate --grant. The whole file is checked before anything is written.

Example: axport restore axport.backup`,
  )
    .argument('<file>', 'the backup')
    .option('--check', 'only check that the file is complete and undamaged; needs no database')
    .option('--json', 'print a JSON object')
    .action(async (file, { check, json }) => {
      const header = await checkArchive(file)
      const erased = check ? undefined : await restoreInto(file, header)
      await (json ? printJson(jsonOf(header, erased)) : printText(file, header, erased))
    })

/** Returns how many erased people were left out. */
async function restoreInto(file: string, header: Header): Promise<number> {
  using status = new StatusLine()
  let isRestored = false
  const onProgress = (progress: Progress) => {
    const { phase } = progress
    if (phase === 'tidying') isRestored = true
    if (phase === 'waiting') status.say('waiting for an import to finish …')
    else if (phase === 'indexing') status.show(() => 'building indexes …')
    else if (phase === 'tidying') status.show(() => 'restored, gathering statistics …')
    else status.showProgress(phase, progress.done, progress.total, phase === 'loading' ? 'rows' : 'records')
  }
  return await interruptible(
    signal => withAnySchema(({ sql }) => restore(sql, file, header, { onProgress, signal })),
    () => (isRestored ? 'interrupted when all was restored' : 'interrupted: nothing was restored'),
  )
}

/** Changes since the backup that the restore has undone. */
const UNDONE_CHANGES = [
  'secrets rotated and integrations disabled since then are as they were: rotate and disable them again',
  'people erased since then are back, except those already erased in this database: erase them again',
  'this database has no record of disclosures and of changes of integrations since then: keep the old database for them',
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
  return [...(erased > 0 ? [describeErased(erased)] : []), ...UNDONE_CHANGES]
}

function jsonOf(header: Header, erased?: number): object {
  const { made_at, version, schema, time_zone, rows } = header
  const restored = erased !== undefined
  const age_seconds = secondsSince(made_at)
  const left = restored && { erased_left_out: erased }
  return { restored, made_at, age_seconds, version, schema, time_zone, rows, ...left, notes: notesOn(erased) }
}

/** 0 if the clock of the backup's machine was ahead of this one. */
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
