import { type BackedUp, backUp } from '../backup/backup.ts'
import { BackupFile } from '../backup/backup-file.ts'
import { keepNewest, newBackupIn } from '../backup/folder.ts'
import { checkArchive } from '../backup/read.ts'
import { UsageFailure } from '../errors.ts'
import type { Write } from '../files.ts'
import { requireCurrentSchema } from '../postgres/schema/schema-record.ts'
import { noteJob } from '../tables/jobs.ts'
import { newCommand, wholeNumber } from './arguments.ts'
import { changing, oneChange } from './changing.ts'
import { counted, print, StatusLine } from './output.ts'
import { BUILD } from './version.ts'
import { withAnySchema } from './with-database.ts'

/** axport backup FILE, axport backup --keep N FOLDER */
export const backupCommand = () =>
  newCommand(
    'backup',
    'Write a backup of all data but tokens into one file.',
    `The file has the source data, the time zone, and the integrations with their scopes and the digests
of their secrets; it has no tokens. All of it is of one moment: imports and the service go on
meanwhile. An existing file is replaced when the new one is complete. Only its owner can read it.
With --keep, the path is a folder. The new backup gets a name with its time. When it has been read
again and is whole, older ones are deleted, and so many are kept.
Run the command as the owner of the tables, or as a member of pg_read_all_data.

Examples: axport backup axport.backup
          axport backup --keep 14 /var/backups/axport`,
  )
    .argument('<file>', 'the file to write; - for standard output; a folder with --keep')
    .option('--keep <n>', 'keep so many backups in the folder', wholeNumber(1, 10_000))
    .option('--json', 'print a JSON object')
    .action(async (path, { keep, json }) => {
      if (keep !== undefined && path === '-') throw new UsageFailure('--keep needs a folder')
      if (path === '-') return await toStdout(json)
      if (keep === undefined) return await intoFile(path, json)
      const file = newBackupIn(path)
      await intoFile(file, json)
      await checkArchive(file)
      const deleted = keepNewest(path, keep)
      if (!json && deleted.length > 0) await print(`deleted ${counted(deleted.length, 'older backup')}\n`)
    })

async function intoFile(path: string, json: true | undefined): Promise<void> {
  const file = new BackupFile(path)
  try {
    const keep = () => file.keep()
    const done = await run(bytes => file.write(bytes), 'no backup was written', keep)
    await print(`${json ? jsonOf(path, done) : textOf(path, done)}\n`)
  } finally {
    file.discard()
  }
}

/** The result goes to standard error: standard output has the backup alone. */
async function toStdout(json: true | undefined): Promise<void> {
  const done = await run(print, 'the output is incomplete')
  process.stderr.write(`${json ? jsonOf('-', done) : textOf('the backup', done)}\n`)
}

/**
 * @param undone what is so if it fails
 * @param keep what to do when all is written, before the database notes the time of the backup
 */
async function run(write: Write, undone: string, keep = async () => {}): Promise<BackedUp> {
  using status = new StatusLine()
  const onRows = (done: number, total: number) => status.showProgress('reading', done, total, 'rows')
  return await changing(oneChange('a backup was written', undone, ''), interruption =>
    withAnySchema(async ({ sql }) => {
      await requireCurrentSchema(sql)
      const done = await backUp(sql, BUILD.version, write, onRows)
      await keep()
      const obstacle = await noteJob(sql, 'backup', done.header.made_at)
      if (obstacle !== undefined) status.say(`the database has not noted this backup: ${obstacle}`)
      return done
    }, interruption),
  )
}

function jsonOf(file: string, { header, bytes }: BackedUp): string {
  const { made_at, schema, time_zone, rows } = header
  return JSON.stringify({ file, bytes, made_at, schema, time_zone, rows })
}

function textOf(name: string, { header, bytes }: BackedUp): string {
  const { assessments = 0, integrations = 0 } = header.rows
  const megabytes = (bytes / 1e6).toFixed(1)
  return `${name} has ${counted(assessments, 'assessment')} and ${counted(integrations, 'integration')} as of ${header.made_at}, in ${megabytes} MB`
}
