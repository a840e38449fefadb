import { existsSync, fsyncSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import initdbWasm from '@electric-sql/pglite/initdb.wasm' with { type: 'file' }
import { NodeFS } from '@electric-sql/pglite/nodefs'
import systemFiles from '@electric-sql/pglite/pglite.data' with { type: 'file' }
import engineWasm from '@electric-sql/pglite/pglite.wasm' with { type: 'file' }
import pgTrgm from '../../../node_modules/@electric-sql/pglite/dist/pg_trgm.tar.gz' with { type: 'file' }
import { flushPath } from '../../files.ts'

const SETTINGS = [
  // The default of 128 MB would be resident from the start, even for a few rows.
  'shared_buffers=32MB',
  // The only method of flushing that calls SyncedFiles below.
  'wal_sync_method=fsync',
  // Bun's stack is smaller than Postgres' default limit of 2 MB.
  'max_stack_depth=256kB',
  // As the connection pool sets it for a Postgres: the engine ignores startup parameters of connections.
  'plan_cache_mode=force_custom_plan',
]

/**
 * Starts the engine on the folder of a cluster, and creates a missing cluster. The folder must be locked: PGlite takes no
 * lock, and two engines would corrupt the files. @throws Error with the engine's last message if it does not start
 */
export async function startPglite(cluster: string): Promise<PGlite> {
  if (!existsSync(cluster)) {
    // Under another name until it is complete: an interrupted start leaves no incomplete cluster.
    const unfinished = `${cluster}.new`
    rmSync(unfinished, { recursive: true, force: true })
    mkdirSync(unfinished, { mode: 0o700 })
    await (await boot(unfinished)).close()
    for (const entry of readdirSync(unfinished, { withFileTypes: true, recursive: true }))
      flushPath(join(entry.parentPath, entry.name))
    flushPath(unfinished)
    renameSync(unfinished, cluster)
    flushPath(dirname(cluster))
  }
  return await boot(cluster)
}

async function boot(cluster: string): Promise<PGlite> {
  let lastMessage = ''
  try {
    const isNew = readdirSync(cluster).length === 0
    const db = new PGlite({
      fs: new SyncedFiles(cluster),
      pgliteWasmModule: await compile(engineWasm),
      ...(isNew && { initdbWasmModule: await compile(initdbWasm) }),
      fsBundle: Bun.file(systemFiles),
      relaxedDurability: false,
      // With the default of 16 MB the first start would need 120 MB more.
      initDbStartParams: ['--wal-segsize=4'],
      // -F switches fsync off.
      startParams: [
        ...PGlite.defaultStartParams.filter(parameter => parameter !== '-F'),
        ...SETTINGS.flatMap(setting => ['-c', setting]),
      ],
      onStderr: line => {
        lastMessage = /(?:FATAL|PANIC): +(.*)/.exec(line)?.[1] ?? lastMessage
        return false
      },
    })
    await db.waitReady
    stopAtCrash(db, () => lastMessage)
    return db
  } catch (error) {
    throw new Error(`the database engine does not start: ${lastMessage || (error as Error).message}`)
  }
}

async function compile(file: string): Promise<WebAssembly.Module> {
  return await WebAssembly.compile(await Bun.file(file).arrayBuffer())
}

/** Files on the host with a real fsync, which is a no-op in PGlite, and pg_trgm, which PGlite would read from a path. */
class SyncedFiles extends NodeFS {
  override async init(...[db, options]: Parameters<NodeFS['init']>): ReturnType<NodeFS['init']> {
    const { emscriptenOpts } = await super.init(db, options)
    emscriptenOpts.preRun?.push(engine => {
      const zipped = Bun.file(pgTrgm).bytes()
      engine.pg_extensions = { pg_trgm: zipped.then(bytes => new Blob([Bun.gunzipSync(bytes)])) }
      const { stream_ops } = engine.NODEFS as unknown as {
        stream_ops: { fsync(stream: { nfd: number }): number }
      }
      stream_ops.fsync = stream => {
        try {
          fsyncSync(stream.nfd)
          return 0
        } catch (error) {
          // Postgres ignores EINVAL, which some file systems return for a folder, and panics at EIO.
          return (error as { code?: string }).code === 'EINVAL' ? WASI_EINVAL : WASI_EIO
        }
      }
    })
    // By default the engine's exit sets the exit code of this process.
    const quit = (_status: number, exit: unknown) => {
      throw exit
    }
    return { emscriptenOpts: Object.assign(emscriptenOpts, { quit }) }
  }
}

const WASI_EINVAL = 28
const WASI_EIO = 29

/** The exit status of the engine's main loop after an ordinary error of a statement. */
const STATEMENT_FAILED = 100

/**
 * Makes a crash of the engine (a FATAL, a PANIC, a stack overflow) an exception of execProtocolRawStream(). PGlite ignores
 * the crash and continues with the next message: the broken engine may never answer again, or commit.
 */
function stopAtCrash(db: PGlite, lastMessage: () => string): void {
  const engine = db.Module
  const { _PostgresMainLoopOnce: step, stackRestore: restore } = engine
  let crash: Error | undefined
  engine._PostgresMainLoopOnce = () => {
    if (crash) throw crash
    try {
      step()
    } catch (error) {
      if ((error as { status?: number }).status !== STATEMENT_FAILED) {
        crash = new Error(lastMessage() || (error as Error).message)
      }
      throw error
    }
  }
  // PGlite calls this first after it caught an exception, outside its own try.
  engine.stackRestore = pointer => {
    if (crash) throw crash
    return restore(pointer)
  }
}
