import { Database } from 'bun:sqlite'
import { createHash } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Failure } from '../../errors.ts'

/** The database of DATABASE_URL=embedded:DIR. */
export interface EmbeddedDatabase {
  /** Path of the unix socket that speaks the Postgres protocol; `psql -h` takes the folder it is in. */
  socketPath: string
  /** true when this process runs the database itself; false when another one holds DIR. */
  owner: boolean
  /** Owner: stops the socket, closes the database with everything flushed, lets go of DIR. Idempotent. */
  close(): Promise<void>
}

const LOCK = 'axport.lock'
const SOCKET = '.s.PGSQL.5432'
const CLUSTER = 'pglite'
const POSTGRES_VERSION = '18'

/** What the longest path of a unix socket may be on macOS; Linux takes four bytes more. */
const MAX_SOCKET_PATH = 103

const OWNER_PATIENCE_MS = 30_000
const POLL_MS = 50

/**
 * Opens the database in DIR, which is made (mode 0700) when missing. The first process runs it; all later
 * openers, in the same process too, are its guests and speak to its socket.
 * @throws Failure when the folder cannot be used, or its owner does not answer for 30 s
 */
export async function openEmbedded(dir: string): Promise<EmbeddedDatabase> {
  try {
    return await openFolder(prepareFolder(dir))
  } catch (error) {
    throw new Failure(`cannot use the embedded database ${dir}: ${(error as Error).message}`)
  }
}

async function openFolder(folder: string): Promise<EmbeddedDatabase> {
  const socketPath = socketPathOf(folder)
  for (const start = performance.now(); performance.now() - start < OWNER_PATIENCE_MS; ) {
    // Before every look at the socket: an owner that dies while it starts leaves its place to this one.
    const release = tryLock(join(folder, LOCK))
    if (release) return await own(folder, socketPath, release)
    if (await answers(socketPath)) return { socketPath, owner: false, close: async () => {} }
    await Bun.sleep(POLL_MS)
  }
  throw new Error(`another process holds it and does not answer at ${socketPath}: stop that process`)
}

async function own(folder: string, socketPath: string, release: () => void): Promise<EmbeddedDatabase> {
  try {
    rmSync(socketPath, { force: true })
    // Nobody else runs it behind our lock. One that was killed as it made the file leaves it empty, and Postgres refuses that.
    rmSync(join(folder, CLUSTER, 'postmaster.pid'), { force: true })
    // Loaded here, so that a service on a real Postgres never evaluates the engine.
    const [{ startPglite }, { servePglite }] = await Promise.all([
      import('./pglite-assets.ts'),
      import('./pglite.ts'),
    ])
    const server = await servePglite(() => startPglite(join(folder, CLUSTER)), socketPath)
    let closed: Promise<void> | undefined
    return {
      socketPath,
      owner: true,
      close() {
        closed ??= server.close().finally(release)
        return closed
      },
    }
  } catch (error) {
    release()
    throw error
  }
}

/** Referenced as long as they are held: a lock that is garbage collected is let go. */
const locks = new Set<Database>()

/**
 * The right to run the engine on a folder, which is lost with the process however that ends; undefined when
 * somebody has it. SQLite's lock, because neither Bun nor Node has one of their own; it holds between two
 * openers in one process too. Nothing else may open the file: closing it would drop the lock.
 */
function tryLock(path: string): (() => void) | undefined {
  const lock = new Database(path)
  try {
    lock.run('pragma locking_mode = exclusive')
    lock.run('begin exclusive')
  } catch (error) {
    lock.close()
    if ((error as { code?: string }).code === 'SQLITE_BUSY') return undefined
    throw error
  }
  locks.add(lock)
  return () => {
    lock.close()
    locks.delete(lock)
  }
}

function answers(socketPath: string): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(socketPath)
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.end())
  })
}

/** The real path of a folder that this process may use, and that holds the database or nothing. */
function prepareFolder(dir: string): string {
  if (statSync(dir, { throwIfNoEntry: false })?.isDirectory() === false) throw new Error('it is not a folder')
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const folder = realpathSync(dir)
  accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  const cluster = join(folder, CLUSTER)
  if (existsSync(cluster)) requireUsableCluster(cluster)
  else requireEmpty(folder)
  // The engine makes its files readable for everybody.
  chmodSync(folder, 0o700)
  return folder
}

function requireUsableCluster(cluster: string): void {
  const version = readFileSync(join(cluster, 'PG_VERSION'), 'utf8').trim()
  if (version !== POSTGRES_VERSION) {
    throw new Error(`it was made by Postgres ${version}: use the axport that made it`)
  }
  // As root everything would work, and leave files behind that the service's own user cannot read.
  const { uid } = statSync(cluster)
  if (uid !== process.getuid?.()) throw new Error(`it belongs to user ${uid}: run axport as that user`)
}

/** Left by a start that did not get far, or by the file system itself; anything else is somebody's. */
const HARMLESS = [LOCK, SOCKET, `${CLUSTER}.`, 'lost+found']

const foreignFileIn = (folder: string) =>
  readdirSync(folder).find(name => !HARMLESS.some(start => name.startsWith(start)))

/**
 * The reason why DATABASE_URL names no embedded database; undefined where there is one, where the folder cannot be read
 * or holds other files (opening it then says so), and for a Postgres. To open a mistyped folder would create a database.
 */
export function missingEmbedded(url: string): string | undefined {
  const dir = /^embedded:(.+)$/s.exec(url)?.[1]
  if (dir === undefined || existsSync(join(dir, CLUSTER))) return undefined
  try {
    if (existsSync(dir) && foreignFileIn(dir)) return undefined
  } catch {
    return undefined
  }
  return `${dir} holds no database: is the folder in DATABASE_URL right? axport migrate makes a new one there`
}

function requireEmpty(folder: string): void {
  const foreign = foreignFileIn(folder)
  if (foreign) throw new Error(`it holds something else (${foreign}): name a new or an empty folder`)
}

function socketPathOf(folder: string): string {
  const path = join(folder, SOCKET)
  if (Buffer.byteLength(path) <= MAX_SOCKET_PATH) return path
  const name = `axport-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`
  const stand = join(tmpdir(), name)
  mkdirSync(stand, { recursive: true, mode: 0o700 })
  const { uid, mode } = lstatSync(stand)
  // Anybody may have made that folder, to listen there in our place.
  if (uid !== process.getuid?.() || (mode & 0o077) !== 0)
    throw new Error(`${stand} belongs to somebody else: remove it`)
  return join(stand, SOCKET)
}
