import { chmodSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import type { PGlite } from '@electric-sql/pglite'
import { onTimeout } from '../connection/clock.ts'
import { ForeignSession } from './foreign-session.ts'
import { Client } from './pglite-client.ts'
import {
  CHECKPOINT_IF_DUE,
  CLOSE_UNNAMED,
  COPY_FAIL,
  cleanup,
  STARTUP,
  text,
  transactionState,
  typeOf,
} from './pglite-messages.ts'

const MAX_CONNECTIONS = 50

/** How long a connection with an open transaction may send nothing: an import may read a slow pipe. */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 5 * 60_000

/** The same for another program, such as psql, while others wait. A request waits for longer (DATABASE_WAIT). */
const FOREIGN_IDLE_MS = 3000

/** The engine has no timers. A BEGIN that ends in this, as that of a read of a service, sets another time. */
const SET_TIMEOUT = /\bset local idle_in_transaction_session_timeout = ([1-9]\d*)$/

const QUERY = 'Q'.charCodeAt(0)

const CHECKPOINT_INTERVAL_MS = 30_000

/** The pause after a failed start of the engine: an attempt blocks the whole process. */
const BOOT_PAUSE_MS = 1_000

/** Messages that the engine runs in one call. */
interface Job {
  /** The client that gets the answer. */
  client?: Client
  /** The session of a client that is not axport. */
  session?: ForeignSession | undefined
  bytes: Buffer
  /** They end in a Sync or are a simple query, so that the engine answers with ReadyForQuery. */
  isComplete: boolean
}

/**
 * Serves PGlite on a unix socket for many connections at once; docs/architecture.md says how.
 * @param start starts the engine; called again after a crash
 * @param socketPath a path that does not exist, in a folder that other users cannot enter
 * @returns `close` cuts all connections, rolls their transactions back, and stops the engine with everything flushed
 */
export async function servePglite(start: () => Promise<PGlite>, socketPath: string) {
  const scheduler = new Scheduler(start)
  const server = createServer(socket => scheduler.accept(socket))
  try {
    await scheduler.boot()
    await new Promise<void>((resolve, reject) => {
      server.on('error', reject).listen(socketPath, resolve)
    })
    chmodSync(socketPath, 0o600)
  } catch (error) {
    await scheduler.end()
    throw error
  }
  const close = async () => {
    const closed = new Promise(resolve => server.close(resolve))
    scheduler.cutAll()
    await closed
    await scheduler.end()
  }
  return { close }
}

/** Gives the engine to one connection at a time. */
class Scheduler {
  /** Undefined before the first start, and after a crash. */
  private engine: Promise<PGlite> | undefined
  /** The answer of the engine to a startup packet, which every connection gets. */
  private greeting: Buffer = Buffer.alloc(0)
  private readonly clients = new Set<Client>()
  private queue: Job[] = []
  private work = Promise.resolve()
  /** The connection in the middle of a batch or a transaction. */
  private holder: Client | undefined
  private previous: Client | undefined
  /** How long the holder may send nothing, and what ends that time. */
  private idleMs = IDLE_IN_TRANSACTION_TIMEOUT_MS
  private stopIdle = () => {}
  private readonly checkpointTimer = setInterval(() => {
    if (!this.holder) this.enqueue({ bytes: CHECKPOINT_IF_DUE, isComplete: true })
  }, CHECKPOINT_INTERVAL_MS).unref()

  constructor(private readonly start: () => Promise<PGlite>) {}

  async end(): Promise<void> {
    clearInterval(this.checkpointTimer)
    await this.work
    const db = await this.engine?.catch(() => undefined)
    await db?.close()
  }

  cutAll(): void {
    for (const client of this.clients) client.socket.destroy()
  }

  accept(socket: Socket): void {
    const client = new Client(socket)
    // Node emits close after it.
    socket.on('error', () => {})
    if (this.clients.size >= MAX_CONNECTIONS)
      return void client.refuse('53300', `more than ${MAX_CONNECTIONS} connections to the embedded database`)
    this.clients.add(client)
    socket.on('data', chunk => {
      try {
        for (const message of client.take(chunk as Buffer)) this.receive(client, message)
      } catch (error) {
        client.refuse('08P01', (error as Error).message)
      }
    })
    socket.on('close', () => {
      this.clients.delete(client)
      this.queue = this.queue.filter(job => job.client !== client)
      if (client.isStarted)
        this.enqueue({ client, bytes: cleanup(client.statements.keys()), isComplete: true })
    })
  }

  private receive(client: Client, received: Buffer): void {
    if (!client.isStarted) return void this.open(client, received)
    const message = client.session?.renamed(received) ?? received
    const type = typeOf(message)
    if (type === 'X') return void client.socket.end()
    // Data of a COPY may still arrive after the COPY was refused.
    if ('dcf'.includes(type)) return
    if (!'PBDECHSQ'.includes(type)) throw new Error(`message ${type} is not supported`)
    // The engine would skip such a query after an error, and not answer it.
    if (type === 'Q' && (client.isFlushed || client.batch.length > 0)) throw new Error('query inside a batch')
    client.batch.push(message)
    if (type === 'Q' || type === 'E') client.batch.push(COPY_FAIL)
    if (type === 'Q' || type === 'S' || type === 'H') {
      const bytes = Buffer.concat(client.batch)
      this.enqueue({ client, session: client.session, bytes, isComplete: type !== 'H' })
      client.batch = []
      client.isFlushed = type === 'H'
    }
  }

  private async open(client: Client, startup: Buffer): Promise<void> {
    const code = startup.readUInt32BE(4)
    // Requests for encryption: SSL and GSS.
    if (code === 80877103 || code === 80877104) return void client.socket.write('N')
    // A cancel request, which cannot work: this process reads no message while a statement runs.
    if (code >>> 16 !== 3) return void client.socket.end()
    client.isStarted = true
    client.session = ForeignSession.of(startup, client.statements)
    try {
      await this.boot()
      client.socket.write(this.greeting)
    } catch (error) {
      client.refuse('57P03', (error as Error).message)
    }
  }

  /** Starts the engine, unless it runs. */
  async boot(): Promise<void> {
    const boot = async () => {
      const db = await this.start()
      this.greeting = await execute(db, STARTUP)
      return db
    }
    this.engine ??= boot().catch(error => {
      setTimeout(() => (this.engine = undefined), BOOT_PAUSE_MS).unref()
      throw error
    })
    await this.engine
  }

  private enqueue(job: Job): void {
    this.queue.push(job)
    this.work = this.work.then(() => this.runAll())
  }

  private async runAll(): Promise<void> {
    for (;;) {
      const job = this.queue.find(({ client }) => !this.holder || client === this.holder)
      if (!job) return
      this.queue.splice(this.queue.indexOf(job), 1)
      await this.run(job)
    }
  }

  private async run({ client, session, bytes, isComplete }: Job): Promise<void> {
    const db = await this.engine?.catch(() => undefined)
    // After a crash there is nothing to clean up.
    if (!db) return void client?.socket.destroy()
    try {
      // The unnamed statement survives a Sync, and another connection must not run it.
      if (client !== this.previous) await execute(db, CLOSE_UNNAMED)
      this.previous = client
      const run = (messages: Buffer) => execute(db, messages)
      if (session && client !== this.holder && !(await session.begin(run)))
        return client?.refuse('55000', 'the settings of this session cannot be put back')
      // Not when they arrive: what waits for its turn is not in the engine, and would be made twice.
      client?.noteStatements(bytes)
      let answer = await run(bytes)
      const isHeld = !isComplete || transactionState(answer) !== 'I'
      if (session && !isHeld) answer = await session.end(run, answer, this.statementsBeside(client))
      this.setHolder(isHeld ? client : undefined, bytes)
      if (client && !client.socket.destroyed) client.socket.write(answer)
    } catch (error) {
      // The engine has crashed. Only its files are closed: its state must not be written.
      db.fs?.closeFs().catch(() => {})
      this.engine = undefined
      this.setHolder(undefined)
      this.queue = []
      // As Postgres does. The next connection starts the engine again.
      client?.refuse('57P02', `the embedded database had to be restarted: ${(error as Error).message}`)
      this.cutAll()
    }
  }

  /** The prepared statements of the other connections. */
  private statementsBeside(one: Client | undefined): Map<string, Buffer> {
    const others = [...this.clients].filter(each => each !== one)
    return new Map(others.flatMap(({ statements }) => [...statements]))
  }

  /** Ends a holder that sends nothing for too long. Another program may keep the engine for as long as nobody waits. */
  private endIdle(holder: Client): void {
    this.stopIdle = onTimeout(this.idleMs, () => {
      if (holder.session && this.queue.length === 0) this.endIdle(holder)
      else holder.refuse('25P03', 'an open transaction was idle for too long')
    })
  }

  /** @param bytes the messages with which it has become the holder, or stayed it */
  private setHolder(holder: Client | undefined, bytes: Buffer = Buffer.alloc(0)): void {
    this.stopIdle()
    const byDefault = holder?.session ? FOREIGN_IDLE_MS : IDLE_IN_TRANSACTION_TIMEOUT_MS
    const kept = holder === this.holder ? this.idleMs : byDefault
    this.holder = holder
    this.idleMs = timeoutIn(bytes) ?? kept
    if (holder) this.endIdle(holder)
  }
}

/** The milliseconds that a simple query sets for its transaction to be idle. */
function timeoutIn(bytes: Buffer): number | undefined {
  const [, ms] = (bytes[0] === QUERY && SET_TIMEOUT.exec(text(bytes, 5))) || []
  return ms === undefined ? undefined : Number(ms)
}

async function execute(db: PGlite, bytes: Buffer): Promise<Buffer> {
  const parts: Buffer[] = []
  await db.execProtocolRawStream(bytes, {
    syncToFs: false,
    // A copy: the part is a view of the engine's memory.
    onRawData: part => void parts.push(Buffer.from(part)),
  })
  return Buffer.concat(parts)
}
