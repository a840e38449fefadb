import { Database } from 'bun:sqlite'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Failure } from '../../errors.ts'
import { openSocket } from '../connection/socket.ts'

/** The database of DATABASE_URL=embedded:DIR. */
export interface EmbeddedDatabase {
  /** The unix socket that speaks the Postgres protocol; `psql -h` takes its folder. */
  socketPath: string
  /** Whether this process runs the engine. */
  owner: boolean
  /** For the owner: closes the socket and the database with everything flushed, and releases DIR. Idempotent. */
  close(): Promise<void>
}

const LOCK = 'axport.lock'
const SOCKET = '.s.PGSQL.5432'
const CLUSTER = 'pglite'
const POSTGRES_VERSION = '18'

/** The longest path of a unix socket on macOS, in bytes; Linux allows four more. */
const MAX_SOCKET_PATH = 103

const OWNER_TIMEOUT_MS = 30_000
const POLL_MS = 50

/**
 * Opens the database in DIR, or creates it. The first opener runs the engine; all others, also in the same process, use
 * its socket. @throws Failure if the folder cannot be used, or its owner does not answer for 30 s
 */
export async function openEmbedded(dir: string): Promise<EmbeddedDatabase> {
  try {
    const folder = prepareFolder(dir)
    const socketPath = socketPathOf(folder)
    for (const startedAt = performance.now(); performance.now() - startedAt < OWNER_TIMEOUT_MS; ) {
      // Before each attempt at the socket: if an owner exits while it starts, this process becomes the owner.
      const release = tryLock(join(folder, LOCK))
      if (release) return await own(folder, socketPath, release)
      const socket = await openSocket({ address: { path: socketPath } }, POLL_MS).catch(() => undefined)
      socket?.destroy()
      if (socket) return { socketPath, owner: false, close: async () => {} }
      await Bun.sleep(POLL_MS)
    }
    throw new Error(`another process holds it and does not answer at ${socketPath}: stop that process`)
  } catch (error) {
    throw new Failure(`cannot use the embedded database ${dir}: ${(error as Error).message}`)
  }
}

async function own(folder: string, socketPath: string, release: () => void): Promise<EmbeddedDatabase> {
  try {
    fs.rmSync(socketPath, { force: true })
    // The lock excludes another engine. A killed engine may leave this file empty, which Postgres refuses.
    fs.rmSync(join(folder, CLUSTER, 'postmaster.pid'), { force: true })
    // Imported here: a service on a Postgres never evaluates the engine.
    const { startPglite } = await import('./pglite-assets.ts')
    const { servePglite } = await import('./pglite.ts')
    const server = await servePglite(() => startPglite(join(folder, CLUSTER)), socketPath)
    let closed: Promise<void> | undefined
    const close = () => (closed ??= server.close().finally(release))
    return { socketPath, owner: true, close }
  } catch (error) {
    release()
    throw error
  }
}

/** References to held locks: garbage collection would release them. */
const locks = new Set<Database>()

/**
 * Acquires the lock of a folder, and returns its release; undefined if another opener holds it, also in this process. It
 * is a lock of SQLite, because Bun and Node have none. No other code may open the file: closing it would release the lock.
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

/** Creates a missing folder, checks that it holds the database or nothing, and returns its real path. */
function prepareFolder(dir: string): string {
  if (fs.statSync(dir, { throwIfNoEntry: false })?.isDirectory() === false)
    throw new Error('it is not a folder')
  fs.mkdirSync(dir, { recursive: true, mode: 0o700 })
  const folder = fs.realpathSync(dir)
  fs.accessSync(folder, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK)
  const cluster = join(folder, CLUSTER)
  if (fs.existsSync(cluster)) {
    const version = fs.readFileSync(join(cluster, 'PG_VERSION'), 'utf8').trim()
    if (version !== POSTGRES_VERSION)
      throw new Error(`it was made by Postgres ${version}: use the axport that made it`)
    // As root it would work, and create files that the user of the service cannot read.
    const { uid } = fs.statSync(cluster)
    if (uid !== process.getuid?.()) throw new Error(`it belongs to user ${uid}: run axport as that user`)
  } else {
    const foreign = foreignFileIn(folder)
    if (foreign) throw new Error(`it holds something else (${foreign}): name a new or an empty folder`)
  }
  // The engine creates files that all users can read.
  fs.chmodSync(folder, 0o700)
  return folder
}

/** Beginnings of names that an interrupted start or the file system leaves; other files are not axport's. */
const HARMLESS = [LOCK, SOCKET, `${CLUSTER}.`, 'lost+found']

const foreignFileIn = (folder: string) =>
  fs.readdirSync(folder).find(name => !HARMLESS.some(start => name.startsWith(start)))

/** Why opening DATABASE_URL would create an embedded database; undefined if it would not, or would say what is wrong. */
export function missingEmbedded(url: string): string | undefined {
  const dir = /^embedded:(.+)$/s.exec(url)?.[1]
  if (dir === undefined || fs.existsSync(join(dir, CLUSTER))) return undefined
  try {
    if (fs.existsSync(dir) && foreignFileIn(dir)) return undefined
  } catch {
    return undefined
  }
  return `${dir} holds no database: is the folder in DATABASE_URL right? axport migrate makes a new one there`
}

function socketPathOf(folder: string): string {
  const path = join(folder, SOCKET)
  if (Buffer.byteLength(path) <= MAX_SOCKET_PATH) return path
  const name = `axport-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`
  const parent = join(tmpdir(), name)
  fs.mkdirSync(parent, { recursive: true, mode: 0o700 })
  const { uid, mode } = fs.lstatSync(parent)
  // Another user may have created that folder, to listen there.
  if (uid !== process.getuid?.() || (mode & 0o077) !== 0)
    throw new Error(`${parent} belongs to another user: remove it`)
  return join(parent, SOCKET)
}
