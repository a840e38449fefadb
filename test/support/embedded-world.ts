import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openDatabase } from '../../src/postgres/database.ts'
import { emptyFolder } from './executable.ts'
import { load, migratedFolder, openFolder, type TestDatabase } from './service.ts'

/** The files of a folder by their paths in it, undefined for folders; kept in memory, so that nothing is left behind. */
type Files = Map<string, Uint8Array | undefined>

let template: Promise<Files> | undefined

/**
 * Makes an embedded database that holds these lines of the import format (those of the first call in a process)
 * and that nobody has opened; returns its folder, which cleanUp() removes. To make one takes seconds and is done
 * once; a copy takes a fraction of one.
 */
export async function embeddedWorld(lines: object[]): Promise<string> {
  template ??= makeTemplate(lines)
  const files = await template
  const folder = emptyFolder()
  for (const [path, content] of files) {
    mkdirSync(content ? dirname(join(folder, path)) : join(folder, path), { recursive: true, mode: 0o700 })
    if (content) writeFileSync(join(folder, path), content, { mode: 0o600 })
  }
  return folder
}

/** The same, open. */
export async function openEmbeddedWorld(lines: object[]): Promise<TestDatabase> {
  return await openFolder(await embeddedWorld(lines))
}

async function makeTemplate(lines: object[]): Promise<Files> {
  const folder = await migratedFolder()
  try {
    const { sql, close } = await openDatabase(`embedded:${folder}`, 1)
    await load(sql, lines)
    await close()
    return readFolder(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function readFolder(folder: string): Files {
  const files: Files = new Map()
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name).slice(folder.length + 1)
    if (entry.isFile()) files.set(path, readFileSync(join(folder, path)))
    if (entry.isDirectory()) files.set(path, undefined)
  }
  return files
}
