import type { Header } from '../backup/archive.ts'
import { newestBackup } from '../backup/folder.ts'
import { checkArchive } from '../backup/read.ts'
import { UsageFailure } from '../errors.ts'
import { newCommand } from './arguments.ts'
import { describeErased } from './erase.ts'
import { print, printJson, printTable } from './output.ts'
import { rehearse, restoreInto } from './restoring.ts'
import { withAnySchema } from './with-database.ts'

/** axport restore FILE */
export const restoreCommand = () =>
  newCommand(
    'restore',
    'Load a backup into an empty database.',
    `A backup of a Postgres can be loaded into an embedded folder, and the other way round. The database
must have no data, and gets all or nothing; tables are created if there are none. Run the command as
the role that will own the tables, then axport migrate --grant. The whole file is checked before
anything is written.
Of a folder of backup --keep, the newest backup is taken.
With --rehearse, the backup is restored into an embedded database in TMPDIR, its rows are counted,
and that database is deleted. A DATABASE_URL is then only used to note when that has succeeded.

Examples: axport restore axport.backup
          axport restore --rehearse /var/backups/axport`,
  )
    .argument('<file>', 'the backup, or a folder of backups')
    .option('--check', 'only check that the file is complete and undamaged; needs no database')
    .option('--rehearse', 'restore into a temporary embedded database, and count')
    .option('--json', 'print a JSON object')
    .action(async (path, { check, rehearse: isRehearsal, json }) => {
      if (check && isRehearsal) throw new UsageFailure('give --check or --rehearse, and not both')
      const file = newestBackup(path)
      const header = await checkArchive(file)
      const report = (erased?: number, records?: number) =>
        json ? printJson(jsonOf(header, erased, records)) : printText(file, header, erased)
      if (check) return await report()
      if (!isRehearsal) return await restoreInto(withAnySchema, file, header, erased => report(erased))
      const records = await rehearse(file, header)
      await report(undefined, records)
      if (!json) await print(`the rehearsal has rendered ${records} records\n`)
    })

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

/** @param records how many a rehearsal has rendered */
function jsonOf(header: Header, erased?: number, records?: number): object {
  const { made_at, version, schema, time_zone, rows } = header
  const restored = erased !== undefined
  const age_seconds = secondsSince(made_at)
  const left = restored && { erased_left_out: erased }
  const rehearsed = records !== undefined && { records }
  const notes = notesOn(erased)
  return { restored, made_at, age_seconds, version, schema, time_zone, rows, ...left, ...rehearsed, notes }
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
