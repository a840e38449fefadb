import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { PGlite } from '@electric-sql/pglite'
import initdbWasm from '@electric-sql/pglite/initdb.wasm' with { type: 'file' }
import { NodeFS } from '@electric-sql/pglite/nodefs'
import systemFiles from '@electric-sql/pglite/pglite.data' with { type: 'file' }
import engineWasm from '@electric-sql/pglite/pglite.wasm' with { type: 'file' }
import pgTrgm from '../../node_modules/@electric-sql/pglite/dist/pg_trgm.tar.gz' with { type: 'file' }

/** The folder inside DIR that holds the cluster; a name that no other database uses. */
export const CLUSTER = 'pglite'

/** The archive that is written into DIR while the engine starts. */
export const EXTENSION_FILE = 'pg_trgm.tar.gz'

const SETTINGS = [
  // The engine's own 128 MB would be resident from the start, also in a database of a few rows.
  'shared_buffers=32MB',
  // The only kind of flush that reaches SyncedFiles below.
  'wal_sync_method=fsync',
  // Bun's stack ends before Postgres' own limit of 2 MB notices a runaway recursion.
  'max_stack_depth=256kB',
  // Startup parameters of a connection are not honoured here, so the pool's are given to the engine.
  'plan_cache_mode=force_custom_plan',
]

/**
 * Starts the engine on DIR/pglite and makes that cluster first when there is none. After a crash or a kill
 * Postgres' own recovery runs. The caller must hold the lock of the folder: PGlite itself takes none.
 * @param dir an existing folder, readable and writable
 * @throws Error with the engine's last words when it does not start
 */
export async function startPglite(dir: string): Promise<PGlite> {
  const cluster = join(dir, CLUSTER)
  if (!existsSync(cluster)) {
    // Under another name until it is complete: what an interrupted start leaves is never taken for a cluster.
    const unfinished = `${cluster}.new`
    rmSync(unfinished, { recursive: true, force: true })
    mkdirSync(unfinished, { mode: 0o700 })
    await (await boot(unfinished, dir)).close()
    flushTree(unfinished)
    renameSync(unfinished, cluster)
    flush(dir)
  }
  return await boot(cluster, dir)
}

async function boot(cluster: string, scratch: string): Promise<PGlite> {
  const words: string[] = []
  const listen = (line: string) => words.push(line) < 0
  const archive = join(scratch, EXTENSION_FILE)
  // The engine streams this one from a path, which does not work for a file inside the executable.
  await Bun.write(archive, Bun.file(pgTrgm))
  try {
    const isNew = readdirSync(cluster).length === 0
    const db = new PGlite({
      fs: new SyncedFiles(cluster),
      pgliteWasmModule: await compile(engineWasm),
      ...(isNew && { initdbWasmModule: await compile(initdbWasm) }),
      fsBundle: Bun.file(systemFiles),
      extensions: { pg_trgm: pathToFileURL(archive) },
      relaxedDurability: false,
      // -F switches fsync off.
      startParams: [
        ...PGlite.defaultStartParams.filter(parameter => parameter !== '-F'),
        ...SETTINGS.flatMap(setting => ['-c', setting]),
      ],
      onStderr: listen,
    })
    await db.waitReady
    stopAtCrash(db)
    return db
  } catch (error) {
    const last = words.findLast(line => /FATAL|PANIC|ERROR/.test(line))
    throw new Error(`the database engine does not start: ${last ?? (error as Error).message}`)
  } finally {
    rmSync(archive, { force: true })
  }
}

async function compile(file: string): Promise<WebAssembly.Module> {
  return await WebAssembly.compile(await Bun.file(file).arrayBuffer())
}

/** A folder of the host whose files Postgres can really flush: PGlite ships with every fsync a no-op. */
class SyncedFiles extends NodeFS {
  override async init(...[db, options]: Parameters<NodeFS['init']>): ReturnType<NodeFS['init']> {
    const { emscriptenOpts } = await super.init(db, options)
    emscriptenOpts.preRun?.push(engine => {
      const files = engine.NODEFS as unknown as { stream_ops: { fsync?: (stream: { nfd: number }) => number } }
      files.stream_ops.fsync = stream => {
        try {
          fsyncSync(stream.nfd)
          return 0
        } catch (error) {
          // Postgres overlooks EINVAL, what some file systems answer for a folder; EIO it takes seriously.
          return (error as { code?: string }).code === 'EINVAL' ? WASI_EINVAL : WASI_EIO
        }
      }
    })
    // By default the engine's end sets the exit code of this process.
    const quit = (_status: number, exit: unknown) => {
      throw exit
    }
    return { emscriptenOpts: Object.assign(emscriptenOpts, { quit }) }
  }
}

const WASI_EINVAL = 28
const WASI_EIO = 29

/** The status by which the engine leaves a statement that failed in an ordinary way. */
const STATEMENT_FAILED = 100

/**
 * Makes a crash of the engine (a FATAL, a PANIC, an overflown stack) an exception of execProtocolRawStream().
 * PGlite swallows it and goes on with the next message, in an engine without its invariants: at best it
 * never answers again, at worst it commits.
 */
function stopAtCrash(db: PGlite): void {
  const engine = db.Module
  const { _PostgresMainLoopOnce: step, stackRestore: restore } = engine
  let crash: unknown
  engine._PostgresMainLoopOnce = () => {
    if (crash) throw crash
    try {
      step()
    } catch (error) {
      if ((error as { status?: number }).status !== STATEMENT_FAILED) crash = error
      throw error
    }
  }
  // The first thing PGlite calls after it caught something, and outside its own try.
  engine.stackRestore = pointer => {
    if (crash) throw crash
    return restore(pointer)
  }
}

function flushTree(dir: string): void {
  for (const entry of readdirSync(dir, { withFileTypes: true, recursive: true })) {
    flush(join(entry.parentPath, entry.name))
  }
  flush(dir)
}

function flush(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
