import postgres, { type Sql } from 'postgres'
import { type OwnCluster, startCluster } from '../../../support/own-cluster.ts'
import { signal, stopProcesses } from '../../../support/stop-processes.ts'
import { until } from '../../../support/until.ts'

/** The role that serves: not a superuser, for whom there are always places left. */
export const SERVING_ROLE = 'axport_serve'

/** A Postgres of one's own that is stopped, killed, frozen and cut off. */
export class Victim {
  #frozen: number[] = []

  private constructor(private readonly cluster: OwnCluster) {}

  /** Starts it with settings of postgresql.conf. */
  static async start(settings: Record<string, string>): Promise<Victim> {
    return new Victim(await startCluster({ settings }))
  }

  get url(): string {
    return this.cluster.url()
  }

  get port(): number {
    return Number(new URL(this.url).port)
  }

  /**
   * Asks it as a superuser, past the proxy, on a connection that is there for `work` alone: one that is kept may
   * not notice that it was cut.
   */
  async ask<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
    const sql = postgres(this.url, { max: 1, onnotice: () => {}, connect_timeout: 5, idle_timeout: 0 })
    try {
      return await work(sql)
    } finally {
      await sql.end({ timeout: 0 })
    }
  }

  /** A shutdown in good order ("fast"), as for an upgrade. */
  async shutDown(): Promise<void> {
    process.kill(this.cluster.pid, 'SIGINT')
    await this.#untilDown()
  }

  /** kill -9 of all its processes at once, as when a machine loses its power. */
  async kill(): Promise<void> {
    for (const pid of await stopProcesses(this.cluster)) signal(pid, 'SIGKILL')
    await this.#untilDown()
  }

  /** kill -9 of one of its backends. Postgres ends all the others and recovers; resolves when it has. */
  async crashBackend(): Promise<void> {
    const started = await this.#startOfRecovery()
    const [row] = await this.ask(
      sql => sql<{ pid: number }[]>`
        select pid from pg_stat_activity where usename = ${SERVING_ROLE} limit 1`,
    )
    if (!row) throw new Error('the service holds no connection')
    signal(row.pid, 'SIGKILL')
    const hasRecovered = async () => {
      const now = await this.#startOfRecovery()
      return now !== undefined && now !== started
    }
    await until('Postgres has recovered', hasRecovered, 30_000)
  }

  /** When its checkpointer was started, which is done anew after a crash of any process. */
  async #startOfRecovery(): Promise<number | undefined> {
    const [row] = await this.ask(
      sql => sql<{ start: number }[]>`
        select extract(epoch from backend_start)::float8 as start from pg_stat_activity
        where backend_type = 'checkpointer'`,
    )
    return row?.start
  }

  /** SIGSTOP to all its processes: connections stay open, and nobody answers. */
  async freeze(): Promise<void> {
    this.#frozen = await stopProcesses(this.cluster)
  }

  thaw(): void {
    for (const pid of this.#frozen) signal(pid, 'SIGCONT')
    this.#frozen = []
  }

  /** Starts it again; resolves when it answers. */
  async start(): Promise<void> {
    await this.cluster.restart()
  }

  /** Cuts every connection of the service, in the middle of whatever it does. */
  async cutConnections(): Promise<void> {
    await this.ask(
      sql => sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where backend_type = 'client backend' and (usename = ${SERVING_ROLE} or usename is null)`,
    )
  }

  /** The service's connections: all of them, and those that are in the middle of something. */
  async connections(): Promise<{ open: number; busy: number }> {
    const [row] = await this.ask(
      sql => sql<{ open: number; busy: number }[]>`
        select count(*)::int as open, (count(*) filter (where state <> 'idle'))::int as busy
        from pg_stat_activity where usename = ${SERVING_ROLE}`,
    )
    if (!row) throw new Error('a count has one row')
    return row
  }

  /** Makes it well again, whatever was done to it. */
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
