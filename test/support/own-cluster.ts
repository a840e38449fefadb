import { appendFile, chown, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeClusterFolder } from './cluster-folder.ts'
import { freePort } from './free-port.ts'
import { copy, newDataFolder, postgresEnvironment } from './initdb.ts'
import { type PostgresBinaries, postgresBinaries } from './postgres-binaries.ts'
import { type Supervised, startSupervised } from './supervised.ts'
import { until } from './until.ts'
import { withConnection } from './with-connection.ts'

/** A Postgres server of one test, which the test may stop and start. */
export interface OwnCluster {
  /** The superuser's postgres:// URL of a database (default: `postgres`). */
  url(database?: string): string
  readonly dataDir: string
  readonly pid: number
  /** Stops the server at once, without a checkpoint. Open connections are cut; the data folder stays. */
  crash(): Promise<void>
  /** Starts the server again after `crash()` or a kill, on the same port and the same data. */
  restart(): Promise<void>
  /** Shuts the server down cleanly: with a checkpoint, after its standbys have received all WAL. */
  shutDown(): Promise<void>
  /** Starts a standby from a copy of the data. This server is restarted for the copy. */
  startStandby(): Promise<OwnCluster>
  /** Starts the server as a standby of `primary`, after `shutDown()`. */
  follow(primary: OwnCluster): Promise<void>
  /** Promotes a standby to a primary. */
  promote(): Promise<void>
  /** Stops the server and removes its files. */
  stop(): Promise<void>
}

export interface ClusterOptions {
  /** Settings of postgresql.conf; they override `testSettings`. */
  settings?: Record<string, string>
  /** Default: a free port. */
  port?: number
  /** The locale of the databases (default: `C`). The code under test must not depend on the locale. */
  locale?: string
  /** The programs of Postgres (default: those that npm installed). */
  binaries?: PostgresBinaries
}

// These settings prefer speed to safety: the data are needed for one test run only.
const testSettings = {
  listen_addresses: '127.0.0.1',
  max_connections: '200',
  // synchronous_commit stays on: without fsync it costs almost nothing, and committed data survive crash().
  fsync: 'off',
  full_page_writes: 'off',
  // Shared memory in the data folder is removed with it, also after a kill.
  dynamic_shared_memory_type: 'mmap',
  // The files may be in memory (`scripts/tests.ts`).
  max_wal_size: '256MB',
  // Autovacuum would change query plans from run to run.
  autovacuum: 'off',
  // Debian's Postgres has JIT. On few rows, compiling a query takes far longer than running it.
  jit: 'off',
}

/** Starts a new, separate Postgres. The server stops when this process ends or is killed. */
export async function startCluster(options: ClusterOptions = {}): Promise<OwnCluster> {
  const binaries = options.binaries ?? (await postgresBinaries())
  const folder = await makeClusterFolder(binaries.owner)
  try {
    const password = await newDataFolder(binaries, folder, options.locale ?? 'C')
    const server = new Server(binaries, folder, password, options.settings)
    await server.start(options.port)
    return server
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

class Server implements OwnCluster {
  readonly dataDir: string
  pid = 0
  #port = 0
  #running: Supervised | undefined
  readonly #binaries: PostgresBinaries
  readonly #folder: string
  readonly #password: string
  readonly #given: Record<string, string>
  readonly #settings: Record<string, string>

  constructor(
    binaries: PostgresBinaries,
    folder: string,
    password: string,
    settings: Record<string, string> = {},
  ) {
    this.#binaries = binaries
    this.#folder = folder
    this.#password = password
    this.#given = settings
    this.#settings = { ...testSettings, unix_socket_directories: folder, ...settings }
    this.dataDir = join(folder, 'data')
  }

  url(database = 'postgres'): string {
    return `postgres://postgres:${this.#password}@127.0.0.1:${this.#port}/${database}`
  }

  /** Tries several ports, because another program may take a free port before the server does. */
  async start(port?: number): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      this.#port = port ?? (await freePort())
      try {
        return await this.#launch()
      } catch (error) {
        if (attempt === 5) throw error
        await Bun.sleep(200)
      }
    }
  }

  async crash(): Promise<void> {
    await this.#running?.end({ keepFolder: true })
  }

  async restart(): Promise<void> {
    await this.crash()
    await this.start(this.#port)
  }

  async shutDown(): Promise<void> {
    process.kill(this.pid, 'SIGINT')
    await until('Postgres has shut down', () => this.#running?.hasEnded(), 30_000)
    await this.crash()
  }

  async startStandby(): Promise<OwnCluster> {
    await this.shutDown()
    const folder = await makeClusterFolder(this.#binaries.owner)
    await copy(folder, this.dataDir)
    const standby = new Server(this.#binaries, folder, this.#password, this.#given)
    await this.start(this.#port)
    await standby.follow(this)
    return standby
  }

  async follow(primary: OwnCluster): Promise<void> {
    await appendFile(join(this.dataDir, 'postgresql.auto.conf'), `primary_conninfo = '${primary.url()}'\n`)
    const signal = join(this.dataDir, 'standby.signal')
    await writeFile(signal, '')
    const { owner } = this.#binaries
    if (owner) await chown(signal, owner.uid, owner.gid)
    await this.start(this.#port || undefined)
  }

  async promote(): Promise<void> {
    await withConnection(this.url(), sql => sql`select pg_promote()`)
  }

  async stop(): Promise<void> {
    await this.#running?.end()
    await rm(this.#folder, { recursive: true, force: true })
  }

  async #launch(): Promise<void> {
    const logFile = join(this.#folder, 'log')
    const settings = Object.entries(this.#settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const command = [this.#binaries.postgres, '-D', this.dataDir, '-p', String(this.#port), ...settings]
    const surroundings = {
      folder: this.#folder,
      env: postgresEnvironment(),
      logFile,
      ...this.#binaries.owner,
    }
    const launched = await startSupervised(command, surroundings)
    this.#running = launched
    try {
      await this.#untilReady(launched)
    } catch (error) {
      await launched.end({ keepFolder: true })
      const log = await readFile(logFile, 'utf8').catch(() => '')
      throw new Error(`${(error as Error).message}: ${log.trim().split('\n').slice(-5).join(' / ')}`)
    }
    const [pid] = (await readFile(join(this.dataDir, 'postmaster.pid'), 'utf8')).split('\n')
    this.pid = Number(pid)
  }

  async #untilReady(launched: Supervised): Promise<void> {
    const answers = async () => {
      // Another Postgres could have taken the port in the meantime, so the data folder is compared.
      const [row] = await withConnection(this.url(), sql => sql`show data_directory`)
      return row?.data_directory === this.dataDir
    }
    await until('Postgres answers', async () => launched.hasEnded() || (await answers()), 30_000)
    if (launched.hasEnded()) throw new Error('Postgres exited during its start')
  }
}
