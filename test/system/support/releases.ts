import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { arch, platform } from 'node:os'
import { join } from 'node:path'
import { version } from '../../../package.json'
import { archiveOfFiles } from '../../../scripts/release/other-files.ts'
import { compress, sha256Sums } from '../../../scripts/release/packing.ts'
import { ROOT } from '../../support/document.ts'
import { build, emptyFolder, executable } from '../../support/executable.ts'

/** The target of this machine, as in the names of a release's files. */
export const TARGET = `${platform()}-${arch()}`

/** The sources that an executable is made from. */
const SOURCES = ['src', 'db', 'docs', 'scripts', 'package.json', 'tsconfig.json']

/**
 * Puts the files of this release that the pages use into the folder `out`: an executable, the archive and the checksums.
 * release.longest.test.ts holds that `bun run release` makes them.
 */
export async function makeRelease(out: string): Promise<void> {
  const release = `axport-${version}`
  const files = [`${release}-${TARGET}.zst`, `${release}.tar.zst`].map(name => join(out, name))
  const [packed, archive] = files as [string, string]
  await compress(await executable(), packed, 1)
  writeFileSync(archive, await Bun.zstdCompress(await archiveOfFiles(release), { level: 1 }))
  writeFileSync(join(out, 'SHA256SUMS'), await sha256Sums(files))
}

/** A later version of this project: its number, and one more migration. */
export interface Later {
  version: string
  migration: { name: string; sql: string }
}

/** Puts the files of a later release that an upgrade uses into the folder `out`: an executable and the checksums. */
export async function makeLater({ version, migration }: Later, out: string): Promise<void> {
  const root = join(emptyFolder(), 'sources')
  mkdirSync(root)
  for (const name of SOURCES) cpSync(join(ROOT, name), join(root, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  const settings = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  writeFileSync(join(root, 'package.json'), JSON.stringify({ ...settings, version }))
  writeFileSync(join(root, 'db', 'migrations', `${migration.name}.sql`), migration.sql)
  const built = join(emptyFolder(), 'axport')
  await build(built, root)
  const packed = join(out, `axport-${version}-${TARGET}.zst`)
  await compress(built, packed, 1)
  writeFileSync(join(out, 'SHA256SUMS'), await sha256Sums([packed]))
}
