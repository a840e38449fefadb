import postgres from 'postgres'
import { type Credentials, get, LIST, postToken, tryList } from '../../support/http.ts'
import { until } from '../../support/until.ts'

/** A service under load, and the database that it serves. */
export interface Loaded {
  /** The base URL of the service. */
  baseUrl: string
  token: string
  credentials: Credentials
  /** The id of a record. */
  id: number
  /** The URL of the database itself, without a pooler. */
  database: string
}

/** The milliseconds within which every endpoint is back, on a machine that opens a connection in no time. */
const RECOVERY_MS = 2000

/** Connections that a service opens one after the other until all of its clients are served, at most. */
const CONNECTIONS = 12

/** For each endpoint. Each sends one request after the other. */
const CLIENTS = 3
const PAUSE_MS = 10
const GIVE_UP_MS = 30_000

/**
 * Takes the database away and back, under load. Resolves with the milliseconds from the first connection that Postgres
 * accepts until each client has its first 200 after its last other answer.
 * @param act resolves when Postgres is back
 */
export async function backAfter(loaded: Loaded, act: () => Promise<unknown>): Promise<number> {
  const before = await identityOf(loaded.database)
  const clients = requestsOf(loaded).flatMap(request =>
    Array.from({ length: CLIENTS }, () => new Client(request)),
  )
  const polling = new AbortController()
  try {
    await until('all clients are served', () => clients.every(client => client.isServedSince(0)))
    const accepted = firstAccepted(loaded.database, before, polling.signal)
    await act()
    const acceptedAt = await accepted
    const isBack = () => clients.every(client => client.isServedSince(acceptedAt))
    await until('all clients are served again', isBack, GIVE_UP_MS)
    return Math.max(...clients.map(client => client.backAt(acceptedAt))) - acceptedAt
  } finally {
    polling.abort()
    await Promise.all(clients.map(client => client.stop()))
  }
}

/** The milliseconds within which every endpoint is back on this machine. It has to hold when no other test runs. */
export async function recoveryMs(database: string): Promise<number> {
  const times: number[] = []
  for (let time = 0; time < 5; time++) {
    const startedAt = performance.now()
    await identityOf(database)
    times.push(performance.now() - startedAt)
  }
  return RECOVERY_MS + CONNECTIONS * Math.min(...times)
}

const requestsOf = ({ baseUrl, token, credentials, id }: Loaded) => [
  () => tryList(baseUrl, token),
  () => get(baseUrl, token, `${LIST}/${id}`),
  () => postToken(baseUrl, credentials),
]

class Client {
  private readonly answers: { sentAt: number; receivedAt: number; status: number }[] = []
  private isStopped = false
  private readonly asking: Promise<void>

  constructor(request: () => Promise<{ status: number }>) {
    this.asking = this.ask(request)
  }

  private async ask(request: () => Promise<{ status: number }>): Promise<void> {
    while (!this.isStopped) {
      const sentAt = performance.now()
      const { status } = await request()
      this.answers.push({ sentAt, receivedAt: performance.now(), status })
      await Bun.sleep(PAUSE_MS)
    }
  }

  /** Whether the last three requests were sent since then, and answered by 200. */
  isServedSince(time: number): boolean {
    const last = this.answers.slice(-3)
    return last.length === 3 && last.every(({ sentAt, status }) => sentAt >= time && status === 200)
  }

  /** When it got the first 200 that no other answer followed, at `time` at the earliest. */
  backAt(time: number): number {
    const failed = this.answers.findLastIndex(({ status }) => status !== 200)
    const back = this.answers.find(({ receivedAt }, at) => at > failed && receivedAt >= time)
    return back?.receivedAt ?? Number.POSITIVE_INFINITY
  }

  async stop(): Promise<void> {
    this.isStopped = true
    await this.asking
  }
}

/** When the first attempt began by which a bare client reaches another server, or another database of the same name. */
async function firstAccepted(url: string, before: string, signal: AbortSignal): Promise<number> {
  let startedAt = performance.now()
  while (!signal.aborted && (await identityOf(url).catch(() => before)) === before)
    startedAt = performance.now()
  return startedAt
}

/** The start of the server, and which database it is. */
async function identityOf(url: string): Promise<string> {
  // If a connection is cut while postgres.js asks for array types, no code can catch the error.
  const sql = postgres(url, { max: 1, connect_timeout: 5, fetch_types: false, onnotice: () => {} })
  try {
    const [row] = await sql<{ identity: string }[]>`
      select pg_postmaster_start_time()::text || ' ' || oid as identity
      from pg_database where datname = current_database()`
    return row?.identity ?? ''
  } finally {
    await sql.end({ timeout: 0 })
  }
}
