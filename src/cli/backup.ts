import { type BackedUp, backUp } from '../backup/backup.ts'
import { BackupFile } from '../backup/backup-file.ts'
import type { Write } from '../files.ts'
import { requireCurrentSchema } from '../postgres/schema/schema-record.ts'
import { newCommand } from './arguments.ts'
import { counted, print, StatusLine } from './output.ts'
import { interruptible } from './process.ts'
import { BUILD } from './version.ts'
import { withAnySchema } from './with-database.ts'

/** axport backup FILE */
export const backupCommand = () =>
  newCommand(
    'backup',
    'Write a backup of all data but tokens into one file.',
    `The file has the source data, the time zone, and the integrations with their scopes and the digests
of their secrets; it has no tokens. All of it is of one moment: imports and the service go on
meanwhile. An existing file is replaced when the new one is complete. Only its owner can read it.
Run the command as the owner of the tables, or as a member of pg_read_all_data.

Example: axport backup axport.backup`,
  )
    .argument('<file>', 'the file to write; - for standard output')
    .option('--json', 'print a JSON object')
    .action(async (file, { json }) => {
      if (file === '-') await toStdout(json)
      else await intoFile(file, json)
    })

async function intoFile(path: string, json: true | undefined): Promise<void> {
  const file = new BackupFile(path)
  try {
    const done = await run(bytes => file.write(bytes), 'interrupted: no backup was written')
    await file.keep()
    await print(`${json ? jsonOf(path, done) : textOf(path, done)}\n`)
  } finally {
    file.discard()
  }
}

/** The result goes to standard error: standard output has the backup alone. */
async function toStdout(json: true | undefined): Promise<void> {
  const done = await run(print, 'interrupted: the output is incomplete')
  process.stderr.write(`${json ? jsonOf('-', done) : textOf('the backup', done)}\n`)
}

async function run(write: Write, interrupted: string): Promise<BackedUp> {
  using status = new StatusLine()
  const onRows = (done: number, total: number) => status.showProgress('reading', done, total, 'rows')
  return await interruptible(
    signal =>
      withAnySchema(async ({ sql }) => {
        await requireCurrentSchema(sql)
        return await backUp(sql, BUILD.version, write, { onRows, signal })
      }),
    () => interrupted,
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
