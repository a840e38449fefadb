import { chownSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Failure } from '../../errors.ts'
import { openSocket } from '../socket.ts'
import { type Kept, startKept, until } from './keeper.ts'
import { findPrograms, type Programs, serverUser, type User } from './programs.ts'

/** A folder for one server, its programs, and the user who runs them; undefined for the user of this process. */
export interface Place {
  folder: string
  /** Its data folder, which the start of the server makes. */
  data: string
  programs: Programs
  user: User | undefined
}

export interface ServerOptions {
  /** Settings of postgresql.conf. */
  settings?: Record<string, string>
  /** Names the unix socket; with listen_addresses also a TCP port. */
  port?: number
  /** The locale of a new cluster. */
  locale?: string
  /** The data folder of a server that was shut down. Its copy takes the place of a new cluster. */
  template?: string
}

/** A server on a unix socket, which only its user can reach. */
export interface PrivateServer {
  url: string
  end(): Promise<void>
}

const PORT = 5432
/** On macOS; Linux allows four more. */
const MAX_SOCKET_PATH = 103
const TRY_MS = 1000

const SETTINGS = {
  listen_addresses: '',
  // Relative to the data folder, because the setting is a list whose commas a path may have.
  unix_socket_directories: '..',
  unix_socket_permissions: '0700',
  // The data are for a short time only.
  fsync: 'off',
  full_page_writes: 'off',
  // Shared memory in the data folder is removed with it.
  dynamic_shared_memory_type: 'mmap',
}

/** Makes the cluster if there is none, and becomes the server. A signal before that ends it when the cluster is made. */
const MAKE_AND_START = `
trap 'exit 1' QUIT
if [ -e data ]; then :
elif [ "$TEMPLATE" ]; then cp -Rp "$TEMPLATE" data
else "$INITDB" -D data -U postgres --auth=trust --locale="$LOCALE" --encoding=UTF8 --no-sync --no-instructions
fi && trap - QUIT && exec "$@"
`

/** Starts a server with an empty database `postgres`. It ends with this process, and leaves nothing behind. */
export async function startPrivateServer(): Promise<PrivateServer> {
  const place = newPlace()
  try {
    const server = await startServer(place)
    return { url: socketUrl(place.folder), end: () => server.end() }
  } catch (error) {
    rmSync(place.folder, { recursive: true, force: true })
    throw error
  }
}

/** The URL of a server on the socket in a folder, for axport and psql. */
export const socketUrl = (folder: string) =>
  `postgres://postgres@/postgres?host=${folder.split('/').map(encodeURIComponent).join('/')}`

/** Makes a temporary folder for a server. @throws Failure */
export function newPlace(given?: Programs): Place {
  const user = serverUser()
  const folder = mkdtempSync(join(temporaryFolder(user), 'axport-postgres-'))
  try {
    if (user) chownSync(folder, user.uid, user.gid)
    return { folder, data: join(folder, 'data'), user, programs: given ?? findPrograms(user, folder) }
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

/**
 * The folder for temporary files; or /tmp, if a socket there has too long a path, or one with a comma, which separates the
 * hosts of a URL, or if the user may not enter it.
 */
function temporaryFolder(user: User | undefined): string {
  for (const path of [tmpdir(), '/tmp']) {
    if (!existsSync(path)) continue
    const folder = realpathSync(path)
    const socket = socketPath(join(folder, 'axport-postgres-XXXXXX'), 65_535)
    const canBeInUrl = Buffer.byteLength(socket) <= MAX_SOCKET_PATH && !socket.includes(',')
    if (canBeInUrl && (!user || isOpenToAll(folder))) return folder
  }
  throw new Failure(
    'a temporary Postgres needs a folder with a short path that all users may write to: set TMPDIR',
  )
}

/** Whether every user may make files in a folder. */
function isOpenToAll(folder: string): boolean {
  let needed = 0o3
  for (let path = folder; ; path = dirname(path)) {
    if ((statSync(path).mode & needed) !== needed) return false
    if (path === dirname(path)) return true
    needed = 0o1
  }
}

/** Starts the server of a place, and waits until it answers. If it does not start, the folder stays. @throws Failure */
export async function startServer(place: Place, options: ServerOptions = {}): Promise<Kept> {
  const { folder, data, programs, user } = place
  const { port = PORT, locale = 'C', template = '' } = options
  const settings = Object.entries({ ...SETTINGS, ...options.settings })
  const postgres = [join(programs.folder, 'postgres'), '-D', data, '-p', String(port)]
  for (const [name, value] of settings) postgres.push('-c', `${name}=${value}`)
  const log = join(folder, 'log')
  const env = { INITDB: join(programs.folder, 'initdb'), LOCALE: locale, TEMPLATE: template }
  const command = ['/bin/sh', '-c', MAKE_AND_START, 'sh', ...postgres]
  const server = await startKept(command, { folder, log, env, user })
  try {
    await until(async () => server.hasEnded() || (await isReady(place, port)))
    if (!server.hasEnded()) return server
  } catch (error) {
    await server.end({ keepFolder: true })
    throw error
  }
  await server.end({ keepFolder: true })
  const text = readFileSync(log, 'utf8')
  const reason = /(?:FATAL|PANIC|error): +(.*)/.exec(text)?.[1] ?? text.trim().split('\n').at(-1)
  throw new Failure(`Postgres does not start: ${reason}`)
}

/** A file of a server that was killed may say "ready", so the socket is tried as well. */
async function isReady({ folder, data }: Place, port: number): Promise<boolean> {
  const socket = await openSocket({ address: { path: socketPath(folder, port) } }, TRY_MS).catch(
    () => undefined,
  )
  socket?.destroy()
  return (
    socket !== undefined &&
    readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[7]?.trim() === 'ready'
  )
}

const socketPath = (folder: string, port: number) => join(folder, `.s.PGSQL.${port}`)
