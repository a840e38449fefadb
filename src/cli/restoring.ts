import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Header } from '../backup/archive.ts'
import { countRestored } from '../backup/rehearse.ts'
import { type Progress, restore } from '../backup/restore.ts'
import { setting } from '../config.ts'
import type { Interruption } from '../interruption.ts'
import { type Database, openDatabase } from '../postgres/database.ts'
import { noteJob } from '../tables/jobs.ts'
import { changing, oneChange } from './changing.ts'
import { StatusLine } from './output.ts'
import { withAnySchema } from './with-database.ts'

type Open = <Result>(
  work: (database: Database) => Promise<Result>,
  interruption: Interruption,
) => Promise<Result>

/**
 * Restores a checked backup and shows the progress.
 * @param then runs on the restored database; gets how many erased people were left out
 */
export async function restoreInto(
  open: Open,
  file: string,
  header: Header,
  then: (erased: number, restored: Database) => Promise<void>,
): Promise<void> {
  using status = new StatusLine()
  const change = oneChange(
    'all was restored',
    'nothing was restored',
    'axport doctor shows what the database has, and a second restore refuses a database with data',
  )
  const onProgress = (progress: Progress) => {
    const { phase } = progress
    if (phase === 'waiting') status.say('waiting for an import to finish …')
    else if (phase === 'indexing') status.show(() => 'building indexes …')
    else if (phase === 'tidying') status.show(() => 'restored, gathering statistics …')
    else status.showProgress(phase, progress.done, progress.total, phase === 'loading' ? 'rows' : 'records')
  }
  const run = async (database: Database) => {
    const erased = await restore(database.sql, file, header, { onProgress })
    status.clear()
    await then(erased, database)
  }
  await changing(change, interruption => open(run, interruption))
}

/**
 * Restores a checked backup into an embedded database in a temporary folder, counts, and deletes the folder. Notes the
 * success in DATABASE_URL, if that is set.
 * @returns the number of records
 * @throws Failure if the restored database has fewer rows than the backup says
 */
export async function rehearse(file: string, header: Header): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'axport-rehearsal-'))
  // At the very end, also after a signal: an engine that is just starting would create the folder again.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const temporary: Open = async (work, interruption) => {
    const database = await openDatabase(`embedded:${folder}`, 1, interruption)
    try {
      return await work(database)
    } finally {
      await database.close()
    }
  }
  let records = 0
  await restoreInto(temporary, file, header, async (_erased, { sql }) => {
    records = await countRestored(sql, header)
  })
  await noteRehearsal()
  return records
}

async function noteRehearsal(): Promise<void> {
  if (!setting('DATABASE_URL') && !setting('DATABASE_URL_FILE')) return
  const obstacle = await withAnySchema(({ sql }) => noteJob(sql, 'rehearsal'))
  if (obstacle !== undefined) process.stderr.write(`the database has not noted this rehearsal: ${obstacle}\n`)
}
