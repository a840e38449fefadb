import { chmodSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import type { PGlite } from '@electric-sql/pglite'
import {
  CHECKPOINT_IF_DUE,
  COPY_FAIL,
  FORGET_UNNAMED,
  GSS_REQUEST,
  goodbye,
  Messages,
  message,
  SSL_REQUEST,
  STARTUP,
  text,
  transactionState,
} from './pglite-messages.ts'

/**
 * PGlite on a unix socket, for many connections at once.
 *
 * PGlite is one backend, so everything that Postgres keeps per session is shared by all connections here:
 * settings (the startup parameters of a connection are not looked at), temporary tables, session-level
 * advisory locks (which therefore exclude nobody), LISTEN. What must never be shared is a turn: from the
 * first message of a batch to its Sync, and from BEGIN to the end of the transaction, the backend answers
 * one connection only. It does so in the thread of this process, so that no statement can be cancelled or
 * timed out.
 *
 * Not @electric-sql/pglite-socket, because that arbitrates per message: between the Parse and the Execute of
 * one connection it lets in those of another, and the rows go to the wrong one; and it commits what a
 * connection left without its Sync. A wrapper around its `db` could keep the turn, but cannot know which
 * connection a message is from, so that it could neither forget the prepared statements of one that has
 * gone nor cut one that sits on an open transaction.
 */
interface PgliteServer {
  /** Cuts all connections, rolls back what they left open, and stops the engine with everything flushed. */
  close(): Promise<void>
}

const MAX_CONNECTIONS = 50

/** For so long a connection may hold the turn without saying anything: an import may read a slow pipe. */
const MAX_SILENCE_MS = 5 * 60_000

const CHECKPOINT_EVERY_MS = 30_000

/** From one failed start of the engine to the next attempt. */
const BOOT_PAUSE_MS = 1_000

interface Client {
  socket: Socket
  messages: Messages
  /** The messages of the batch that is still arriving. */
  batch: Buffer[]
  /** The batch has begun to run: a Flush was sent, and no Sync since. */
  isFlushed: boolean
  /** The names of its prepared statements. */
  statements: Set<string>
}

/** Messages that are run in one go. */
interface Job {
  /** Who gets the answer; nobody when left out. */
  client?: Client
  bytes: Buffer
  /** Ends in Sync or is a simple query, so that the backend answers with ReadyForQuery. */
  ends: boolean
}

/**
 * Starts an engine and listens.
 * @param start starts the engine; called again after it has crashed
 * @param socketPath where nothing exists yet, in a folder that other users cannot enter
 * @throws whatever `start` throws, or the error of listening
 */
export async function servePglite(start: () => Promise<PGlite>, socketPath: string): Promise<PgliteServer> {
  const turns = new Turns(start)
  await turns.begin()
  const server = createServer(socket => turns.welcome(socket))
  try {
    await new Promise<void>((resolve, reject) => {
      server.on('error', reject).listen(socketPath, resolve)
    })
    chmodSync(socketPath, 0o600)
  } catch (error) {
    await turns.end()
    throw error
  }
  return {
    async close() {
      const closed = new Promise(resolve => server.close(resolve))
      turns.cutAll()
      await closed
      await turns.end()
      rmSync(socketPath, { force: true })
    },
  }
}

class Turns {
  private db: PGlite | undefined
  private booting: Promise<void> | undefined
  private greeting: Buffer = Buffer.alloc(0)
  private readonly clients = new Set<Client>()
  private queue: Job[] = []
  private work = Promise.resolve()
  /** The connection in the middle of a batch or a transaction. */
  private holder: Client | undefined
  private previous: Client | undefined
  private silence: Timer | undefined
  private housekeeping: Timer | undefined

  constructor(private readonly start: () => Promise<PGlite>) {}

  async begin(): Promise<void> {
    await this.boot()
    this.housekeeping = setInterval(() => {
      if (!this.holder) this.enqueue({ bytes: CHECKPOINT_IF_DUE, ends: true })
    }, CHECKPOINT_EVERY_MS).unref()
  }

  async end(): Promise<void> {
    clearInterval(this.housekeeping)
    await this.booting?.catch(() => {})
    await this.work
    await this.db?.close()
  }

  cutAll(): void {
    for (const client of this.clients) client.socket.destroy()
  }

  welcome(socket: Socket): void {
    const client = {
      socket,
      messages: new Messages(),
      batch: [],
      isFlushed: false,
      statements: new Set<string>(),
    }
    // A close follows.
    socket.on('error', () => {})
    if (this.clients.size >= MAX_CONNECTIONS) {
      refuse(client, '53300', `more than ${MAX_CONNECTIONS} connections to the embedded database`)
      return
    }
    this.clients.add(client)
    socket.on('data', chunk => {
      try {
        for (const message of client.messages.take(chunk as Buffer)) this.receive(client, message)
      } catch (error) {
        refuse(client, '08P01', (error as Error).message)
      }
    })
    socket.on('close', () => this.leave(client))
  }

  private leave(client: Client): void {
    this.clients.delete(client)
    this.queue = this.queue.filter(job => job.client !== client)
    if (client.messages.started) this.enqueue({ client, bytes: goodbye(client.statements), ends: true })
  }

  private receive(client: Client, message: Buffer): void {
    if (!client.messages.started) {
      this.open(client, message.readUInt32BE(4))
      return
    }
    const type = String.fromCharCode(message[0] ?? 0)
    if (type === 'X') client.socket.end()
    else if ('PBDECHSQ'.includes(type)) this.collect(client, type, message)
    // What belongs to a COPY may still be on its way when that has been refused.
    else if (!'dcf'.includes(type)) throw new Error(`message ${type} is not supported`)
  }

  private open(client: Client, code: number): void {
    if (code === SSL_REQUEST || code === GSS_REQUEST) client.socket.write('N')
    else if (code >>> 16 === 3) {
      client.messages.started = true
      void this.greet(client)
    }
    // A cancel request among others: a statement runs to its end before the next message is even read.
    else client.socket.end()
  }

  private async greet(client: Client): Promise<void> {
    try {
      if (!this.db) await this.boot()
      client.socket.write(this.greeting)
    } catch (error) {
      refuse(client, '57P03', (error as Error).message)
    }
  }

  private boot(): Promise<void> {
    const boot = async () => {
      const db = await this.start()
      // Every connection gets the answer to this one: the engine has no session to give to it.
      this.greeting = await execute(db, STARTUP)
      this.db = db
    }
    const forget = () => {
      this.booting = undefined
    }
    this.booting ??= boot().then(forget, error => {
      // Every attempt holds up the whole process.
      setTimeout(forget, BOOT_PAUSE_MS).unref()
      throw error
    })
    return this.booting
  }

  private collect(client: Client, type: string, message: Buffer): void {
    if (type === 'P') client.statements.add(text(message, 5))
    if (type === 'C' && message[5] === 'S'.charCodeAt(0)) client.statements.delete(text(message, 6))
    // After an error it would be skipped and stay without an answer.
    if (type === 'Q' && (client.isFlushed || client.batch.length > 0)) throw new Error('query inside a batch')
    client.batch.push(message)
    if (type === 'Q' || type === 'E') client.batch.push(COPY_FAIL)
    if (type === 'Q' || type === 'S' || type === 'H') {
      this.enqueue({ client, bytes: Buffer.concat(client.batch), ends: type !== 'H' })
      client.batch = []
      client.isFlushed = type === 'H'
    }
  }

  private enqueue(job: Job): void {
    this.queue.push(job)
    this.work = this.work.then(() => this.runAll())
  }

  private async runAll(): Promise<void> {
    for (let job = this.next(); job; job = this.next()) await this.run(job)
  }

  private next(): Job | undefined {
    const index = this.holder ? this.queue.findIndex(job => job.client === this.holder) : 0
    return index < 0 ? undefined : this.queue.splice(index, 1)[0]
  }

  private async run({ client, bytes, ends }: Job): Promise<void> {
    // The engine has crashed, and what was left to clean up has gone with it.
    if (!this.db) {
      client?.socket.destroy()
      return
    }
    try {
      // The unnamed statement outlives a Sync: the next connection must not be able to run it.
      if (client !== this.previous) await execute(this.db, FORGET_UNNAMED)
      this.previous = client
      const answer = await execute(this.db, bytes)
      this.pass(!ends || transactionState(answer) !== 'I' ? client : undefined)
      if (client && !client.socket.destroyed) client.socket.write(answer)
    } catch (error) {
      this.recover(error as Error, client)
    }
  }

  private pass(holder: Client | undefined): void {
    this.holder = holder
    clearTimeout(this.silence)
    if (!holder) return
    this.silence = setTimeout(() => {
      refuse(holder, '25P03', 'an open transaction was silent for too long')
    }, MAX_SILENCE_MS).unref()
  }

  /** As Postgres does when a backend crashes: everybody is cut, and the next connection finds it recovered. */
  private recover(error: Error, culprit: Client | undefined): void {
    // Its files only; nothing of its state may be written any more.
    this.db?.fs?.closeFs().catch(() => {})
    this.db = undefined
    this.pass(undefined)
    this.queue = []
    if (culprit) refuse(culprit, '57P02', `the embedded database had to be restarted: ${error.message}`)
    this.cutAll()
  }
}

/**
 * Ends a connection with a FATAL of that SQLSTATE. ReadyForQuery follows because of postgres.js: without it
 * the first query of the next connection fails with this error, or is never answered at all.
 */
function refuse({ socket }: Client, code: string, reason: string): void {
  socket.write(message('E', `SFATAL\0VFATAL\0C${code}\0M${reason}\0\0`))
  socket.write(message('Z', 'I'))
  socket.destroy()
}

async function execute(db: PGlite, bytes: Buffer): Promise<Buffer> {
  const parts: Buffer[] = []
  await db.execProtocolRawStream(bytes, {
    syncToFs: false,
    // A view of the engine's memory, which the next write overwrites.
    onRawData: part => void parts.push(Buffer.from(part)),
  })
  return Buffer.concat(parts)
}
