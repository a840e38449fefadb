import type { Sql } from 'postgres'
import { type OwnCluster, startCluster } from '../../../support/own-cluster.ts'
import { signal, stopProcesses } from '../../../support/stop-processes.ts'
import { until } from '../../../support/until.ts'
import { withConnection } from '../../../support/with-connection.ts'

/** The role of the service. It is no superuser, because Postgres reserves connections for superusers. */
export const SERVING_ROLE = 'axport_serve'

/** A Postgres server that a test shuts down, kills, suspends and disconnects. */
export class ChaosPostgres {
  #frozen: number[] = []

  private constructor(private readonly cluster: OwnCluster) {}

  /** Starts a server with settings of postgresql.conf. */
  static async start(settings: Record<string, string>): Promise<ChaosPostgres> {
    return new ChaosPostgres(await startCluster({ settings }))
  }

  get url(): string {
    return this.cluster.url()
  }

  get port(): number {
    return Number(new URL(this.url).port)
  }

  /**
   * Calls `work` with a new superuser's connection that does not use the proxy. A connection that outlived an outage
   * might not notice that it is dead.
   */
  async asSuperuser<Result>(
    work: (sql: Sql) => Promise<Result>,
    options: { fetch_types?: boolean } = {},
  ): Promise<Result> {
    return await withConnection(this.url, work, options)
  }

  /** A fast shutdown of Postgres, as before an upgrade. */
  async shutDown(): Promise<void> {
    process.kill(this.cluster.pid, 'SIGINT')
    await this.#untilDown()
  }

  /** SIGKILL to all processes at once, as at a power loss. */
  async kill(): Promise<void> {
    for (const pid of await stopProcesses(this.cluster)) signal(pid, 'SIGKILL')
    await this.#untilDown()
  }

  /** Writes every commit. Commits of tokens are asynchronous: a crash may take those of the last moment. */
  async flush(): Promise<void> {
    await this.asSuperuser(sql => sql`checkpoint`)
  }

  /** SIGKILL to one backend. Postgres ends all other backends and recovers; the promise resolves after the recovery. */
  async crashBackend(): Promise<void> {
    // It may still be recovering from a crash before.
    const started = await until('Postgres accepts connections', () => this.#startOfRecovery(), 30_000)
    const [row] = await this.asSuperuser(
      sql => sql<{ pid: number }[]>`
        select pid from pg_stat_activity where usename = ${SERVING_ROLE} limit 1`,
    )
    if (!row) throw new Error('the service has no connection whose backend could be killed')
    await this.flush()
    signal(row.pid, 'SIGKILL')
    const hasRecovered = async () => {
      const now = await this.#startOfRecovery()
      return now !== undefined && now !== started
    }
    await until('Postgres has recovered', hasRecovered, 30_000)
  }

  /** The start time of the checkpointer. Postgres restarts its checkpointer after a crash of any process. */
  async #startOfRecovery(): Promise<number | undefined> {
    const [row] = await withConnection(
      this.url,
      sql => sql<{ start: number }[]>`
        select extract(epoch from backend_start)::float8 as start from pg_stat_activity
        where backend_type = 'checkpointer'`,
      { fetch_types: false },
    )
    return row?.start
  }

  /** SIGSTOP to all processes: connections stay open, and get no answer. */
  async freeze(): Promise<void> {
    this.#frozen = await stopProcesses(this.cluster)
  }

  thaw(): void {
    for (const pid of this.#frozen) signal(pid, 'SIGCONT')
    this.#frozen = []
  }

  /** Starts the server again; resolves when the server answers. */
  async start(): Promise<void> {
    await this.cluster.restart()
  }

  /** Terminates every backend of the service, also in the middle of a statement. */
  async cutConnections(): Promise<void> {
    await this.asSuperuser(
      sql => sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where backend_type = 'client backend' and (usename = ${SERVING_ROLE} or usename is null)`,
    )
  }

  /** The number of the service's connections, and of those that run a statement or a transaction. */
  async connections(): Promise<{ open: number; busy: number }> {
    const [row] = await this.asSuperuser(
      sql => sql<{ open: number; busy: number }[]>`
        select count(*)::int as open, (count(*) filter (where state <> 'idle'))::int as busy
        from pg_stat_activity where usename = ${SERVING_ROLE}`,
    )
    if (!row) throw new Error('count(*) returned no row')
    return row
  }

  /** Resumes or starts the server, so that it runs again. */
  async mend(): Promise<void> {
    this.thaw()
    if (!this.#isUp()) await this.start()
  }

  async stop(): Promise<void> {
    this.thaw()
    await this.cluster.stop()
  }

  #isUp(): boolean {
    return signal(this.cluster.pid, 0)
  }

  async #untilDown(): Promise<void> {
    await until('the database is down', () => !this.#isUp())
  }
}
