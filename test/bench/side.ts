import type { Sql } from 'postgres'
import { bearer, newToken } from '../support/http.ts'
import type { Credentials } from '../support/walk.ts'
import { type Job, type Outcome, runLoads } from './job.ts'
import type { Options } from './options.ts'
import { runProgram } from './program.ts'
import type { Scope } from './scopes.ts'
import { type Service, startService } from './service.ts'

/** The connections of a load, unless the measure says otherwise. */
const CONNECTIONS = 8

/** The length of the warm-up, in measurements. */
const WARM_UP = 7

/** A service with a client that has a token. */
export interface Client extends Service {
  headers: { authorization: string }
  /** Sends each path once or, with `seconds`, all paths over and over. */
  load(job: Partial<Job> & Pick<Job, 'paths'>): Promise<Outcome>
  /** The same for the seconds of one measurement. Returns the requests a second. */
  rate(job: Partial<Job> & Pick<Job, 'paths'>): Promise<number>
  /** Load before a measurement: Bun compiles code that runs often for some twenty seconds. */
  warmUp(job: Partial<Job> & Pick<Job, 'paths'>): Promise<unknown>
}

/** An executable with a database of its own schema and the same data as the other side. */
export class Side {
  readonly #known = new Map<string, Credentials>()
  #services: Service[] = []

  constructor(
    readonly executable: string,
    readonly databaseUrl: string,
    readonly sql: Sql,
    /** The file with all data. */
    readonly file: string,
    readonly options: Options,
  ) {}

  /** Runs a command of the executable and returns its standard output. */
  async axport(args: string[], databaseUrl = this.databaseUrl): Promise<string> {
    return (await runProgram([this.executable, ...args], { env: { DATABASE_URL: databaseUrl } })).stdout
  }

  /** Runs `work` on a new database with the schema of this side and no data. */
  async onEmpty<Value>(work: (databaseUrl: string) => Promise<Value>): Promise<Value> {
    const url = new URL(this.databaseUrl)
    url.pathname += '_empty'
    const name = url.pathname.slice(1)
    await this.sql`create database ${this.sql(name)}`
    try {
      await this.axport(['migrate', '--time-zone', 'UTC'], url.href)
      return await work(url.href)
    } finally {
      await this.sql`drop database ${this.sql(name)} with (force)`
    }
  }

  /** The integration with this scope, which the first call creates. */
  async provision(scope: Scope): Promise<Credentials> {
    const key = JSON.stringify(scope)
    const ids = ['--organizations', scope.organizations.join(), '--products', scope.products.join()]
    const credentials =
      this.#known.get(key) ??
      JSON.parse(await this.axport(['integration', 'create', 'Benchmark', ...ids, '--json']))
    this.#known.set(key, credentials)
    return credentials
  }

  /** The headers of a client with this scope. */
  async authorize(url: string, scope: Scope) {
    return bearer(await newToken(url, await this.provision(scope)))
  }

  /** Sends each path once to a service, one after the other, as a client with this scope. */
  async send(url: string, scope: Scope, paths: string[]): Promise<Outcome> {
    const [outcome] = await runLoads([
      { url, paths, connections: 1, headers: await this.authorize(url, scope) },
    ])
    return outcome as Outcome
  }

  /** Starts a service with empty page memory, for a client with this scope. It ends at the latest with the measure. */
  async serve(scope: Scope): Promise<Client> {
    const service = await startService(this.executable, this.databaseUrl)
    this.#services.push(service)
    const headers = await this.authorize(service.url, scope)
    const load: Client['load'] = async job => {
      const [outcome] = await runLoads([{ url: service.url, connections: CONNECTIONS, headers, ...job }])
      return outcome as Outcome
    }
    const rate: Client['rate'] = async job => {
      const { requests, seconds } = await load({ seconds: this.options.seconds, ...job })
      return requests / seconds
    }
    const warmUp: Client['warmUp'] = job => load({ seconds: WARM_UP * this.options.seconds, ...job })
    return { ...service, headers, load, rate, warmUp }
  }

  /** Runs `work` on a service with empty page memory, which ends afterwards. */
  async whileServing<Value>(scope: Scope, work: (client: Client) => Promise<Value>): Promise<Value> {
    const client = await this.serve(scope)
    try {
      return await work(client)
    } finally {
      await client.stop()
    }
  }

  /** Ends the services that still run. */
  async endServices(): Promise<void> {
    for (const service of this.#services) await service.stop()
    this.#services = []
  }
}
