import { type AddressInfo, connect, createServer } from 'node:net'

/** A statement as the service sent it: its text, its parameters as text, and the settings of its connection. */
export interface Sent {
  text: string
  parameters: (string | null)[]
  session: Session
}

/** What a client asks for when it connects: the parameters of its startup message that are settings. */
export type Session = Record<string, string>

/** A way to a database that listens in: `url` leads through it. */
export interface Tap {
  url: string
  /** What was executed since the last call. */
  taken(): Sent[]
  close(): void
}

/**
 * Puts a tap between a service and its database, so that pgbench and EXPLAIN are given the very text, values
 * and settings that the service sends, whatever it looks like inside.
 */
export async function openTap(databaseUrl: string): Promise<Tap> {
  const { hostname, port } = new URL(databaseUrl)
  let sent: Sent[] = []
  const listener = createServer(service => {
    const database = connect({ host: hostname, port: Number(port || 5432), noDelay: true })
    const messages = new Messages(one => sent.push(one))
    service.setNoDelay(true).on('data', (chunk: Buffer) => messages.read(chunk))
    for (const [from, to] of [
      [service, database],
      [database, service],
    ] as const) {
      from.pipe(to)
      // Which end breaks off first is of no interest: the other one goes with it.
      from.on('error', () => {}).on('close', () => to.destroy())
    }
  })
  await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve))
  const url = new URL(databaseUrl)
  url.hostname = '127.0.0.1'
  url.port = String((listener.address() as AddressInfo).port)
  return {
    url: url.href,
    taken: () => {
      const all = sent
      sent = []
      return all
    },
    close: () => void listener.close(),
  }
}

const PARSE = 'P'.charCodeAt(0)
const BIND = 'B'.charCodeAt(0)

/** Of a startup message: who connects, and not how. */
const IDENTITY = ['user', 'database', 'application_name', 'client_encoding']

/** Reads what a client sends (PostgreSQL documentation, "Message Formats"), as far as Parse and Bind go. */
class Messages {
  private rest = Buffer.alloc(0)
  private session: Session | undefined
  private readonly texts = new Map<string, string>()

  constructor(private readonly note: (sent: Sent) => void) {}

  read(chunk: Buffer): void {
    let rest = Buffer.concat([this.rest, chunk])
    for (;;) {
      // The first message has no type.
      const start = this.session ? 1 : 0
      const length = rest.length < start + 4 ? Number.POSITIVE_INFINITY : start + rest.readUInt32BE(start)
      if (rest.length < length) break
      const body = new Fields(rest.subarray(start + 4, length))
      if (this.session) this.take(rest[0] as number, body, this.session)
      else this.session = settingsIn(body)
      rest = rest.subarray(length)
    }
    this.rest = rest
  }

  private take(type: number, body: Fields, session: Session): void {
    if (type === PARSE) this.texts.set(body.text(), body.text())
    if (type !== BIND) return
    body.text()
    const text = this.texts.get(body.text()) ?? ''
    for (let formats = body.int16(); formats > 0; formats--) body.int16()
    const parameters = Array.from({ length: body.int16() }, () => body.value())
    this.note({ text, parameters, session })
  }
}

function settingsIn(startup: Fields): Session {
  startup.int32()
  const session: Session = {}
  for (let name = startup.text(); name !== ''; name = startup.text()) {
    const value = startup.text()
    if (!IDENTITY.includes(name)) session[name] = value
  }
  return session
}

/** The fields of one message, one after the other. */
class Fields {
  private at = 0

  constructor(private readonly body: Buffer) {}

  text(): string {
    const end = this.body.indexOf(0, this.at)
    const found = this.body.toString('utf8', this.at, end)
    this.at = end + 1
    return found
  }

  int16(): number {
    this.at += 2
    return this.body.readInt16BE(this.at - 2)
  }

  int32(): number {
    this.at += 4
    return this.body.readInt32BE(this.at - 4)
  }

  /** A value in text format, which is all that postgres.js sends. */
  value(): string | null {
    const length = this.int32()
    if (length < 0) return null
    this.at += length
    return this.body.toString('utf8', this.at - length, this.at)
  }
}
