import { cpSync } from 'node:fs'
import { openDatabase } from '../../src/postgres/database.ts'
import { embeddedTemplate } from './embedded-engine.ts'
import { emptyFolder } from './executable.ts'
import { ndjsonOf } from './fixtures.ts'
import { madeOnce } from './made-once.ts'
import { load } from './service.ts'

/**
 * Makes an embedded database that contains these import lines and that no process has open. Returns its folder, which
 * cleanUp() removes.
 */
export async function embeddedWorld(lines: object[]): Promise<string> {
  const filled = await madeOnce(`embedded-${Bun.hash(ndjsonOf(lines))}`, async folder => {
    cpSync(await embeddedTemplate(), folder, { recursive: true })
    const { sql, close } = await openDatabase(`embedded:${folder}`, 1)
    await load(sql, lines)
    await close()
  })
  const folder = emptyFolder()
  cpSync(filled, folder, { recursive: true })
  return folder
}
