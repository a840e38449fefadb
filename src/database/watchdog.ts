import { singleFlight } from '../single-flight.ts'
import { READ_GRACE_MS } from '../timeouts.ts'
import type { PoolBounds, StateLog } from './bounds.ts'
import type { Client } from './client.ts'
import { DatabaseUnavailable, isTimeout, reasonOf, refusesMore } from './failures.ts'
import type { Method } from './password.ts'
import { cutStale, findServer, measure, openClient, SERVING_CLIENT, type Server, stateOf } from './server.ts'
import type { PostgresUrl } from './url.ts'

/** Between two looks at the server that is used. */
const WATCH_MS = 1000

/** After so long without a sign of life, something may be wrong. */
const SILENCE_MS = 1000

/** For a server that may be there to answer. With the two above, a request waits for less than four seconds. */
const FIND_MS = 1750

/** At the start of a process, requests wait for so long for a server that does not answer. */
const START_MS = 2500

/** Between two attempts to find a server while the database is away. */
const PAUSE_MS = 250

/** Between two measurements of a pooler. */
const MEASURE_MS = 60_000

/** For clients, while the database is away. */
const RETRY_AFTER_SECONDS = 2

/** Connections that nobody uses are closed: a firewall would drop them in silence. Seconds. */
const IDLE_TIMEOUT = 60

/** How servers are found. */
export interface Discovery {
  /** Reads the URL, which may change. */
  readUrl(): PostgresUrl
  /** Parameters of the server, which are left out where a pooler refuses them. */
  optional: Record<string, string>
}

interface Found {
  /** As it was read for this server. */
  url: PostgresUrl
  server: Server
}

/** A server that is used, with the client that serves. */
interface Current extends Found {
  client: Client
}

/** What a watchdog tells. */
interface Listener {
  /** So many connections can be used now. */
  onSize(size: number): void
  onLost(error: DatabaseUnavailable): void
}

/**
 * Keeps a client to a server that answers. Once a second it asks the server on a connection of its own. If that does not
 * answer, it looks for another one. If there is none, the database is away, until one is found.
 */
export class Watchdog {
  /** Undefined while the database is away. */
  #current: Current | undefined
  /** Why it is away; undefined before the first search has failed. */
  #why: string | undefined
  #awaySince = performance.now()
  #measuredAt = 0
  #soughtAt = Number.NEGATIVE_INFINITY
  #loggedReason: string | undefined
  #isClosed = false
  /** Resolves when the first search has found a server, or has failed. */
  readonly #started = Promise.withResolvers<void>()

  constructor(
    private readonly discovery: Discovery,
    private readonly bounds: PoolBounds,
    private readonly log: StateLog,
    private readonly listener: Listener,
  ) {
    this.#seek()
    void this.#watch()
  }

  /** The client that serves; undefined while the database is away. */
  get client(): Client | undefined {
    return this.#current?.client
  }

  /** Why the database is away, for people; undefined if it is not. */
  get why(): string | undefined {
    return this.#current ? undefined : this.#why
  }

  /** The client that serves, which a process that has just started waits for. @throws DatabaseUnavailable */
  async opened(): Promise<Client> {
    if (this.#why === undefined) await this.#started.promise
    if (this.#current) return this.#current.client
    throw this.#unavailable()
  }

  #unavailable(): DatabaseUnavailable {
    return new DatabaseUnavailable(this.#why ?? 'the service is stopping', RETRY_AFTER_SECONDS)
  }

  async close(): Promise<void> {
    const current = this.#current
    this.#isClosed = true
    this.#current = undefined
    this.#why = 'the service is stopping'
    this.#started.resolve()
    await Promise.all([current?.client.close(), current?.server.client.close()])
  }

  async #watch(): Promise<void> {
    while (!this.#isClosed) {
      await Bun.sleep(WATCH_MS)
      await this.look()
    }
  }

  /** Looks whether the server that is used still answers, and whether the URL still names it. */
  readonly look = singleFlight(async () => {
    const current = this.#current
    if (!current) return
    const since = performance.now()
    const { server } = current
    const failure = await errorOf(stateOf(server.client, server.start.url.target, SILENCE_MS))
    if (!failure && isSame(this.discovery.readUrl(), current.url)) return await this.#tend(current)
    try {
      const found = await this.#find(FIND_MS)
      if (failure && isTimeout(failure) && (await hasOnlyWaited(current, found, since)))
        return found.server.client.destroy()
      await this.#use(found, current)
      // What has cut the watchdog's connection may have cut others.
      if (this.#current) await this.#tend(this.#current)
    } catch (error) {
      if (current !== this.#current) return
      if (!failure)
        this.#logOnce(reasonOf(error), 'the new database URL cannot be used: the last one stays in use')
      else if (!mayStay(current, failure, error, since)) this.#lose(error)
    }
  })

  /** The server is well: looks after its connections. */
  async #tend({ server, client }: Current): Promise<void> {
    const { size } = this.bounds
    if (!server.isPooled) {
      this.listener.onSize(size)
      return await cutStale(server, client, SILENCE_MS).catch(() => {})
    }
    if (performance.now() - this.#measuredAt < MEASURE_MS) return
    this.#measuredAt = performance.now()
    const more = await measure(server, size - client.size, SILENCE_MS)
    this.listener.onSize(Math.max(1, Math.min(size, client.size + more)))
  }

  /**
   * A server has refused a write: looks, once a second, whether the URL leads to another one by now.
   * @returns whether it does
   */
  readonly findWritable = singleFlight(async (): Promise<boolean> => {
    const current = this.#current
    if (!current || performance.now() - this.#soughtAt < WATCH_MS) return false
    this.#soughtAt = performance.now()
    const found = await this.#find(SILENCE_MS).catch(() => undefined)
    if (!found || found.server.state.isReadOnly) found?.server.client.destroy()
    else await this.#use(found, current, true)
    return this.#current !== current
  })

  async #find(timeoutMs: number): Promise<Found> {
    const url = this.discovery.readUrl()
    const password = (method: Method) => this.discovery.readUrl().login.password?.(method) ?? Buffer.alloc(0)
    return { url, server: await findServer(url, timeoutMs, { optional: this.discovery.optional, password }) }
  }

  /** Uses a server instead of `before`, whose connections end; but if it is the same one, they stay, unless they are `outdated`. */
  async #use(found: Found, before?: Current, outdated = false): Promise<void> {
    const { server } = found
    const { size, waitMs } = this.bounds
    const usable = server.isPooled ? Math.max(1, await measure(server, size, SILENCE_MS)) : size
    if (this.#isClosed || this.#current !== before) return server.client.destroy()
    before?.server.client.destroy()
    const kept = !outdated && before && isSameServer(before, found) ? before.client : undefined
    if (!kept) before?.client.destroy()
    const options = { ...SERVING_CLIENT, max: size, idle_timeout: IDLE_TIMEOUT }
    const client = kept ?? openClient(server, 0.8 * waitMs, options)
    this.#current = { ...found, client }
    this.#measuredAt = performance.now()
    this.listener.onSize(usable)
    if (this.#why !== undefined) {
      const seconds = Math.round((performance.now() - this.#awaySince) / 100) / 10
      this.log.info({ seconds }, 'the database can be reached again')
    }
    this.#why = undefined
    this.#started.resolve()
  }

  /** The database does not answer: all that runs or waits fails now. */
  #lose(error: unknown): void {
    const current = this.#current
    this.#current = undefined
    this.#noteAway(error)
    current?.client.destroy()
    current?.server.client.destroy()
    this.listener.onLost(this.#unavailable())
    this.#seek()
  }

  #noteAway(error: unknown): void {
    if (this.#isClosed) return
    const reason = reasonOf(error)
    if (this.#why === undefined) {
      this.#awaySince = performance.now()
      this.log.warn({ reason }, 'the database cannot be reached')
    }
    this.#why = reason
    this.#started.resolve()
  }

  /** Two at a time look for a server: a quick one, which a server that is just back answers, and one for a slow server. */
  #seek(): void {
    void this.#seekWith(SILENCE_MS)
    setTimeout(() => void this.#seekWith(this.bounds.waitMs), PAUSE_MS)
  }

  async #seekWith(patienceMs: number): Promise<void> {
    while (!this.#current && !this.#isClosed) {
      try {
        await this.#use(await this.#find(patienceMs))
      } catch (error) {
        // At the start, the server may be slow.
        const isStart = this.#why === undefined && performance.now() < this.#awaySince + START_MS
        const isTooEarly = isStart && isTimeout(error)
        if (!this.#current && !isTooEarly) this.#noteAway(error)
        await Bun.sleep(PAUSE_MS)
      }
    }
  }

  #logOnce(reason: string, message: string): void {
    if (reason !== this.#loggedReason) this.log.warn({ reason }, message)
    this.#loggedReason = reason
  }
}

/** The error of what fails. */
const errorOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    error => error as { code?: string },
  )

/** Whether two URLs differ in nothing but the password. */
function isSame(one: PostgresUrl, other: PostgresUrl): boolean {
  const withoutPassword = ({ login: { user, database }, ...rest }: PostgresUrl) => ({
    ...rest,
    user,
    database,
  })
  return Bun.deepEquals(withoutPassword(one), withoutPassword(other))
}

/** Behind a pooler, a connection says nothing of the others. */
const isSameServer = (one: Found, other: Found) =>
  isSame(one.url, other.url) &&
  !one.server.isPooled &&
  !other.server.isPooled &&
  one.server.state.startedAt === other.server.state.startedAt

/**
 * Whether a look got its answer late, because all servers of the pooler were in use. A pooler serves first come first, so
 * the look has its answer by the time when a later connection has one: nothing was lost then.
 */
async function hasOnlyWaited({ url, server }: Current, found: Found, since: number): Promise<boolean> {
  if (!server.isPooled || !found.server.isPooled || !isSame(url, found.url)) return false
  await Bun.sleep(READ_GRACE_MS)
  return server.client.heardAt >= since
}

/**
 * Whether the connections of a client may still be used, though their server has not answered.
 * @param failure of the question whether it answers
 * @param error of the search for another one
 */
function mayStay(
  { server, client }: Current,
  failure: { code?: string },
  error: unknown,
  since: number,
): boolean {
  if (failure.code === 'NOT_WANTED') return false
  // All servers of the pooler may be in use.
  if (server.isPooled && (error as { hasLoggedIn?: boolean }).hasLoggedIn) return true
  return client.size > 0 && (refusesMore(error) || client.heardAt >= since)
}
