import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { PGlite } from '@electric-sql/pglite'
import initdbWasm from '@electric-sql/pglite/initdb.wasm' with { type: 'file' }
import { NodeFS } from '@electric-sql/pglite/nodefs'
import systemFiles from '@electric-sql/pglite/pglite.data' with { type: 'file' }
import engineWasm from '@electric-sql/pglite/pglite.wasm' with { type: 'file' }
import pgTrgm from '../../../node_modules/@electric-sql/pglite/dist/pg_trgm.tar.gz' with { type: 'file' }

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
 * Starts the engine on a cluster, and makes that first when there is none. After a crash or a kill Postgres'
 * own recovery runs. The caller must hold a lock: PGlite takes none, and two would corrupt the files.
 * @param cluster the folder of the cluster; its parent exists
 * @throws Error with the engine's last words when it does not start
 */
export async function startPglite(cluster: string): Promise<PGlite> {
  if (!existsSync(cluster)) {
    // Under another name until it is complete: what an interrupted start leaves is never taken for a cluster.
    const unfinished = `${cluster}.new`
    rmSync(unfinished, { recursive: true, force: true })
    mkdirSync(unfinished, { mode: 0o700 })
    await (await boot(unfinished)).close()
    flushTree(unfinished)
    renameSync(unfinished, cluster)
    flush(dirname(cluster))
  }
  return await boot(cluster)
}

async function boot(cluster: string): Promise<PGlite> {
  let lastWords = ''
  const archive = `${cluster}.pg_trgm.tar.gz`
  // The engine streams this one from a path, which does not work for a file inside the executable.
  // In one step: a write under way would get into the way of whoever removes the folder at a signal.
  writeFileSync(archive, readFileSync(pgTrgm))
  try {
    const isNew = readdirSync(cluster).length === 0
    const db = new PGlite({
      fs: new SyncedFiles(cluster),
      pgliteWasmModule: await compile(engineWasm),
      ...(isNew && { initdbWasmModule: await compile(initdbWasm) }),
      fsBundle: Bun.file(systemFiles),
      extensions: { pg_trgm: pathToFileURL(archive) },
      relaxedDurability: false,
      // Files of 16 MB would make the first start need 120 MB more.
      initDbStartParams: ['--wal-segsize=4'],
      // -F switches fsync off.
      startParams: [
        ...PGlite.defaultStartParams.filter(parameter => parameter !== '-F'),
        ...SETTINGS.flatMap(setting => ['-c', setting]),
      ],
      onStderr: line => {
        lastWords = /(?:FATAL|PANIC): +(.*)/.exec(line)?.[1] ?? lastWords
        return false
      },
    })
    await db.waitReady
    stopAtCrash(db, () => lastWords)
    return db
  } catch (error) {
    throw new Error(`the database engine does not start: ${lastWords || (error as Error).message}`)
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
      const files = engine.NODEFS as unknown as {
        stream_ops: { fsync?: (stream: { nfd: number }) => number }
      }
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
function stopAtCrash(db: PGlite, lastWords: () => string): void {
  const engine = db.Module
  const { _PostgresMainLoopOnce: step, stackRestore: restore } = engine
  let crash: Error | undefined
  engine._PostgresMainLoopOnce = () => {
    if (crash) throw crash
    try {
      step()
    } catch (error) {
      if ((error as { status?: number }).status !== STATEMENT_FAILED) {
        crash = new Error(lastWords() || (error as Error).message)
      }
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
