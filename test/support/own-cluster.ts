import { appendFile, chown, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Kept } from '../../src/database/private-server/keeper.ts'
import { newPlace, type Place, startServer } from '../../src/database/private-server/private-server.ts'
import type { Programs } from '../../src/database/private-server/programs.ts'
import { clusterTemplate, copyFolder, pidIn } from './cluster-template.ts'
import { freePort } from './free-port.ts'
import { postgresPrograms } from './postgres-programs.ts'
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
  programs?: Programs
}

// Without fsync, synchronous_commit costs almost nothing. So it stays on, and committed data survive crash().
const testSettings = {
  listen_addresses: '127.0.0.1',
  max_connections: '200',
  // The files may be in memory (`scripts/tests.ts`).
  max_wal_size: '256MB',
  // Autovacuum would change query plans from run to run.
  autovacuum: 'off',
  // Debian's Postgres has JIT. On few rows, compiling a query takes far longer than running it.
  jit: 'off',
}

/** Starts a new, separate Postgres. The server stops when this process ends or is killed. */
export async function startCluster(options: ClusterOptions = {}): Promise<OwnCluster> {
  const place = newPlace(options.programs ?? (await postgresPrograms()))
  try {
    const { template, password } = await clusterTemplate(place, options.locale ?? 'C')
    const server = new Server(place, template, password, options.settings)
    await server.start(options.port)
    return server
  } catch (error) {
    await rm(place.folder, { recursive: true, force: true })
    throw error
  }
}

class Server implements OwnCluster {
  readonly dataDir: string
  pid = 0
  #port = 0
  #running: Kept | undefined
  readonly #place: Place
  readonly #template: string
  readonly #password: string
  readonly #given: Record<string, string>

  constructor(place: Place, template: string, password: string, settings: Record<string, string> = {}) {
    this.#place = place
    this.#template = template
    this.#password = password
    this.#given = settings
    this.dataDir = place.data
  }

  url(database = 'postgres'): string {
    return `postgres://postgres:${this.#password}@127.0.0.1:${this.#port}/${database}`
  }

  /** Tries several ports, because another program may take a free port before the server does. */
  async start(port?: number): Promise<void> {
    const settings = { ...testSettings, ...this.#given }
    for (let attempt = 1; ; attempt++) {
      this.#port = port ?? (await freePort())
      try {
        const options = { settings, port: this.#port, template: this.#template }
        this.#running = await startServer(this.#place, options)
        this.pid = await pidIn(this.#place)
        return
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
    const place = newPlace(this.#place.programs)
    await copyFolder(this.dataDir, place.folder)
    const standby = new Server(place, this.#template, this.#password, this.#given)
    await this.start(this.#port)
    await standby.follow(this)
    return standby
  }

  async follow(primary: OwnCluster): Promise<void> {
    await appendFile(join(this.dataDir, 'postgresql.auto.conf'), `primary_conninfo = '${primary.url()}'\n`)
    const signal = join(this.dataDir, 'standby.signal')
    await writeFile(signal, '')
    const { user } = this.#place
    if (user) await chown(signal, user.uid, user.gid)
    await this.start(this.#port || undefined)
  }

  async promote(): Promise<void> {
    await withConnection(this.url(), sql => sql`select pg_promote()`)
  }

  async stop(): Promise<void> {
    await this.#running?.end()
    await rm(this.#place.folder, { recursive: true, force: true })
  }
}
