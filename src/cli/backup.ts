import { Command } from 'commander'
import { type BackedUp, backUp } from '../backup/backup.ts'
import { BackupFile } from '../backup/backup-file.ts'
import type { Write } from '../files.ts'
import { requireCurrentSchema } from '../postgres/schema/schema-record.ts'
import { print, StatusLine } from './output.ts'
import { percent, timeLeft } from './pace.ts'
import { interruptible } from './signals.ts'
import { BUILD } from './version.ts'
import { withAnySchema } from './with-database.ts'

/** axport backup FILE */
export function backupCommand(): Command {
  return new Command('backup')
    .description(
      'Write all but tokens into one compressed file, as one snapshot has it; axport restore reads it.',
    )
    .argument('<file>', 'what to write, replaced as a whole; - for stdout')
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      `
The file has the source data, the integrations with their scopes and the digests of their secrets,
and the time zone. It is readable for its owner alone. Run it as the owner of the tables, or as a
member of pg_read_all_data. Writers go on meanwhile.

Example: axport backup axport.backup`,
    )
    .action(async (file: string, { json }: { json?: true }) => {
      if (file === '-') await toStdout(json)
      else await intoFile(file, json)
    })
}

async function intoFile(path: string, json: true | undefined): Promise<void> {
  const file = new BackupFile(path)
  try {
    const done = await run(bytes => file.write(bytes), 'interrupted: no backup was written')
    await file.keep()
    await print(`${json ? asJson(path, done) : inWords(path, done)}\n`)
  } finally {
    file.discard()
  }
}

/** Nothing else stands on standard output then. */
async function toStdout(json: true | undefined): Promise<void> {
  const done = await run(print, 'interrupted: what was written is not all')
  process.stderr.write(`${json ? asJson('-', done) : inWords('the backup', done)}\n`)
}

async function run(write: Write, interrupted: string): Promise<BackedUp> {
  const status = new StatusLine()
  let start = 0
  const onRows = (done: number, total: number) => {
    if (done === 0) start = performance.now()
    status.show(() => {
      const left = timeLeft(done, total, (performance.now() - start) / 1000)
      return `reading ${percent(done, total)} (${done} of ${total} rows${left})`
    })
  }
  try {
    return await interruptible(
      signal =>
        withAnySchema(async ({ sql }) => {
          await requireCurrentSchema(sql)
          return await backUp(sql, BUILD.version, write, { onRows, signal })
        }),
      () => interrupted,
    )
  } finally {
    status.clear()
  }
}

function asJson(file: string, { header, bytes }: BackedUp): string {
  const { made_at, schema, time_zone, rows } = header
  return JSON.stringify({ file, bytes, made_at, schema, time_zone, rows })
}

function inWords(what: string, { header, bytes }: BackedUp): string {
  const { assessments = 0, integrations = 0 } = header.rows
  const megabytes = (bytes / 1e6).toFixed(1)
  return `${what} has ${count(assessments, 'assessment')} and ${count(integrations, 'integration')} as of ${header.made_at}, in ${megabytes} MB`
}

const count = (number: number, noun: string) => `${number} ${noun}${number === 1 ? '' : 's'}`
