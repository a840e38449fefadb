import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { arch, platform } from 'node:os'
import { join } from 'node:path'
import { ROOT } from '../../support/document.ts'
import { emptyFolder, ended, launch } from '../../support/executable.ts'

/** The target of this machine, as in the names of a release's files. */
export const TARGET = `${platform()}-${arch()}`

/** The sources that a release is made from. */
const SOURCES = ['src', 'db', 'scripts', 'docs', 'README.md', 'CHANGELOG.md', 'package.json', 'tsconfig.json']

/** Makes a release for this machine from the sources in `root`. Returns the folder with its files. */
export async function makeRelease(root = ROOT): Promise<string> {
  const out = emptyFolder()
  const command = [process.execPath, join(root, 'scripts', 'release.ts'), '--out', out]
  const env = { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: process.env.HOME ?? '/' }
  const running = launch([...command, '--target', TARGET, '--level', '1', '--no-images'], { env })
  const { code, stdout, stderr } = await ended(running, { timeoutMs: 280_000 })
  if (code !== 0) throw new Error(`the release failed: ${stdout}${stderr}`)
  return out
}

/** A copy of the sources with another version, and with one more migration. */
export function laterSources(version: string, migration: { name: string; sql: string }): string {
  const root = join(emptyFolder(), 'sources')
  mkdirSync(root)
  for (const name of SOURCES) cpSync(join(ROOT, name), join(root, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  const settings = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  writeFileSync(join(root, 'package.json'), JSON.stringify({ ...settings, version }))
  writeFileSync(join(root, 'db', 'migrations', `${migration.name}.sql`), migration.sql)
  return root
}
