import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Sql } from 'postgres'
import { verdictOn } from '../../../src/database/failures.ts'
import { selfSigned } from '../../support/certificate.ts'
import { codeUnder } from '../../support/document.ts'
import { emptyFolder, runExecutable } from '../../support/executable.ts'
import { LIST, send, successful, TOKEN, tokenRequest } from '../../support/http.ts'
import { type Finished, runInProcess } from '../../support/in-process.ts'
import { type OwnCluster, startCluster } from '../../support/own-cluster.ts'
import { EXAMPLE, QUERIES } from '../../support/platform-example.ts'
import { type Served, serveWith } from '../../support/served.ts'
import { until } from '../../support/until.ts'
import { withConnection } from '../../support/with-connection.ts'
import { type FakedClock, fakedClock } from './faked-clock.ts'
import { QuarterSeries, START } from './quarter-series.ts'

/** A client that reads from a service whose certificate may have ended. */
const TRUSTING = { tls: { rejectUnauthorized: false } } as RequestInit

const CREATE = ['integration', 'create', 'nightly', '--organizations', 'all', '--products', 'all', '--json']

/** An integration as `axport integration create --json` prints it. */
interface Partner {
  client_id: string
  client_secret: string
}

/** A timer of the server may fire when its clock jumps, and end a connection. Then the work is done again. */
const unlessCut = <T>(work: () => Promise<T>): Promise<T> =>
  work().catch(error => {
    if (verdictOn(error) !== 'cut') throw error
    return work()
  })

/** Runs a command in this process, and again if a connection was cut, as the unit of a feed does. */
async function command(args: string[], env: Record<string, string>): Promise<Finished> {
  const run = () => runInProcess(args, env)
  const ended = await run()
  return /the connection to the database was lost|the platform went away/.test(ended.stderr) ? run() : ended
}

/**
 * An installation whose clock the test sets: the platform and the export on a Postgres under that clock, the service, and
 * the commands of the units with the roles of install.md.
 */
export class Quarter {
  readonly series = new QuarterSeries()
  private readonly folder = emptyFolder()
  readonly queries = join(this.folder, 'queries')
  private readonly platformUrl = join(this.folder, 'platform-url')
  private readonly tls = { TLS_CERT_FILE: join(this.folder, 'cert'), TLS_KEY_FILE: join(this.folder, 'key') }
  private served: Served | undefined
  private partner: Partner | undefined

  private constructor(
    private readonly clock: FakedClock,
    private readonly cluster: OwnCluster,
  ) {}

  static async start(): Promise<Quarter> {
    const clock = await fakedClock()
    const quarter = new Quarter(clock, await startCluster({ programs: await clock.postgres() }))
    quarter.setClock(0)
    await quarter.install()
    return quarter
  }

  /** Sets the clock to a minute of the quarter. */
  setClock(minute: number): void {
    this.clock.set(Math.ceil(START + minute * 60 - Date.now() / 1000))
  }

  private async install(): Promise<void> {
    const password = new URL(this.cluster.url()).password
    await this.sql('postgres', async sql => {
      for (const [role, more] of Object.entries({
        axport: '',
        axport_serve: '',
        axport_load: '',
        axport_backup: 'in role pg_read_all_data',
      }))
        await sql.unsafe(`create role ${role} login password '${password}' ${more}`)
      for (const name of ['axport', 'platform']) await sql.unsafe(`create database ${name} owner axport`)
    })
    const [role = ''] = codeUnder('The role on the platform', 'sql')
    await this.sql('platform', async sql => {
      for (const file of ['schema.sql', 'data.sql'])
        await sql.unsafe(readFileSync(join(EXAMPLE, file), 'utf8')).simple()
      await sql.unsafe(role.replace('…', password)).simple()
    })
    cpSync(QUERIES, this.queries, { recursive: true })
    this.pointTo('platform')
    await this.owner(
      'migrate',
      '--time-zone',
      'UTC',
      '--grant',
      'axport_serve',
      '--grant-loader',
      'axport_load',
    )
  }

  /** Works on a database as the superuser or another role. */
  sql<T>(database: string, work: (sql: Sql) => PromiseLike<T>, role?: string): Promise<T> {
    return unlessCut(() => withConnection(this.url(database, role), work))
  }

  private url(database: string, role = 'postgres'): string {
    return Object.assign(new URL(this.cluster.url(database)), { username: role }).href
  }

  /** Runs a command as the owner. */
  private async owner(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await command(args, { DATABASE_URL: this.url('axport', 'axport') })
    if (code !== 0) throw new Error(stderr)
    return stdout
  }

  /** Writes the URL of the platform, as the operator does. */
  pointTo(database: string): void {
    writeFileSync(this.platformUrl, this.url(database, 'axport_reads'))
  }

  /** A round of the feed, or with --sync the comparison of a night. */
  round(...more: string[]): Promise<Finished> {
    const from = [
      '--from-file',
      this.platformUrl,
      '--queries',
      this.queries,
      '--rejects',
      join(this.folder, 'rejects'),
    ]
    return command(['import', ...from, ...more], { DATABASE_URL: this.url('axport', 'axport_load') })
  }

  /** The last command of the unit that makes the backup. Returns what it prints, if it fails. */
  async backUp(): Promise<string> {
    const call = this.sql('axport', sql => sql`call note_backup()`, 'axport_backup')
    return await call.then(
      () => '',
      (error: Error) => error.message,
    )
  }

  /** Lets the partner ask for a token and a page, until it is noted. */
  async ask(): Promise<void> {
    this.partner ??= JSON.parse(await this.owner(...CREATE)) as Partner
    const partner = this.partner
    const base = this.served?.url as string
    await until('the request is noted', async () => {
      const body = new URLSearchParams(tokenRequest(partner))
      const issued = successful(await send(base, TOKEN, { ...TRUSTING, method: 'POST', body }))
      const headers = { authorization: `Bearer ${(issued as { access_token: string }).access_token}` }
      successful(await send(base, LIST, { ...TRUSTING, headers }))
      const last = (sql: Sql) =>
        sql`select max(last_used_at) > now() - interval '2 minutes' as "isNow" from integration_secrets`
      return (await this.sql('axport', last))[0]?.isNow
    })
  }

  /** Installs a certificate until a minute of the quarter, and restarts the service as the path unit does. */
  async certify(until: number): Promise<void> {
    const { cert, key } = selfSigned(
      'export.example.org',
      '127.0.0.1',
      'ec',
      new Date((START + until * 60) * 1000),
    )
    writeFileSync(this.tls.TLS_CERT_FILE, cert)
    writeFileSync(this.tls.TLS_KEY_FILE, key)
    await this.served?.end()
    this.served = await serveWith([], { ...this.serving(), ADMIN_PORT: '0' })
  }

  private serving() {
    return { DATABASE_URL: this.url('axport', 'axport_serve'), ...this.tls }
  }

  /** What `axport serve --check` says at the time of the quarter. */
  check(): Promise<Finished> {
    return runExecutable(['serve', '--check'], { env: { ...this.serving(), ...this.clock.env } })
  }

  /** Reads the metrics in a minute. */
  scrape(minute: number): Promise<void> {
    return this.series.scrape(minute, this.served?.admin as string)
  }

  async stop(): Promise<void> {
    // A signal that a server handles can hang it: the handler waits for a lock that libfaketime holds already.
    process.kill(this.cluster.pid, 'SIGKILL')
    await this.cluster.stop()
    await this.clock.remove()
  }
}
