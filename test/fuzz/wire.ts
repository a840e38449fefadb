import { connect } from 'node:net'

/** One answer as it came over the wire; header names are lower case. */
export interface WireAnswer {
  status: number
  headers: Map<string, string>
  body: Buffer
}

/** What one connection sends, and how it ends. */
export interface Sending {
  /** Packets, by turn: the next turn waits for so many answers to this one, unless it may get none. */
  turns: { packets: Buffer[]; answers: number; isBroken: boolean }[]
  /** The method of each request, in order: an answer to HEAD has no body. */
  methods: string[]
  /** wait: for an answer to each. end: says that no more will come. cut: hangs up at once. */
  ending: 'wait' | 'end' | 'cut'
}

/** What came back: the answers, what followed them and is none, and whether the server closed by itself. */
export interface Received {
  /** Turns that were taken: none follows once the server has closed. */
  turns: number
  answers: WireAnswer[]
  rest: Buffer
  isClosed: boolean
}

/** Milliseconds for a connection that is owed answers. Who is cut then was not answered. */
const PATIENCE_MS = 20_000

/** Milliseconds for what was not even finished, and may be owed nothing. */
const GRACE_MS = 30

/** Sends bytes as they are, and reads what comes until all is answered, or the server closes. */
export async function converse(port: number, { turns, methods, ending }: Sending): Promise<Received> {
  const reader = new Reader(methods)
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  let isClosed = false
  let wake = () => {}
  // A reset while there was more to send: whoever sends nonsense has to expect it.
  socket.on('error', () => {})
  socket.on('data', (chunk: Buffer) => {
    reader.read(chunk)
    wake()
  })
  socket.on('close', () => {
    isClosed = true
    wake()
  })
  let timer: Timer | undefined
  let owed = 0
  let taken = 0
  for (const { packets, answers, isBroken } of turns) {
    if (isClosed) break
    taken++
    clearTimeout(timer)
    timer = setTimeout(() => socket.destroy(), ending === 'wait' && !isBroken ? PATIENCE_MS : GRACE_MS)
    for (const packet of packets) {
      socket.write(packet)
      // What belongs together arrives apart.
      if (packets.length > 1) await new Promise(setImmediate)
    }
    if (ending === 'cut') socket.destroy()
    if (ending === 'end') socket.end()
    owed += answers
    while (!isClosed && reader.answers.length < owed)
      await new Promise<void>(resolve => {
        wake = resolve
      })
  }
  clearTimeout(timer)
  const { answers, rest } = reader
  const received = { turns: taken, answers, rest, isClosed }
  socket.destroy()
  return received
}

/** Takes answers apart as their bytes come (RFC 9112 §6). */
class Reader {
  readonly answers: WireAnswer[] = []
  rest: Buffer = Buffer.alloc(0)
  readonly #methods: string[]

  constructor(methods: string[]) {
    this.#methods = methods
  }

  read(chunk: Buffer): void {
    this.rest = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk])
    while (this.#takeAnswer()) {
      // On to the next.
    }
  }

  #takeAnswer(): boolean {
    const end = this.rest.indexOf('\r\n\r\n')
    if (end < 0) return false
    const [statusLine = '', ...lines] = this.rest.subarray(0, end).toString('latin1').split('\r\n')
    const [, status] = /^HTTP\/1\.1 (\d{3})(?: |$)/.exec(statusLine) ?? []
    if (status === undefined) return false
    const headers = new Map<string, string>()
    for (const line of lines) {
      const colon = line.indexOf(':')
      headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim())
    }
    // An interim answer announces the real one.
    if (status.startsWith('1')) {
      this.rest = this.rest.subarray(end + 4)
      return true
    }
    const body = this.#bodyAt(end + 4, headers)
    if (!body) return false
    this.rest = this.rest.subarray(body.end)
    this.answers.push({ status: Number(status), headers, body: body.bytes })
    return true
  }

  #bodyAt(start: number, headers: Map<string, string>): { bytes: Buffer; end: number } | undefined {
    if (this.#methods[this.answers.length] === 'HEAD') return { bytes: Buffer.alloc(0), end: start }
    if (headers.get('transfer-encoding') === 'chunked') return this.#chunksAt(start)
    const length = Number(headers.get('content-length') ?? 0)
    if (this.rest.length < start + length) return undefined
    return { bytes: this.rest.subarray(start, start + length), end: start + length }
  }

  #chunksAt(start: number): { bytes: Buffer; end: number } | undefined {
    const chunks: Buffer[] = []
    for (let at = start; ; ) {
      const lineEnd = this.rest.indexOf('\r\n', at)
      if (lineEnd < 0) return undefined
      const size = Number.parseInt(this.rest.subarray(at, lineEnd).toString('latin1'), 16)
      at = lineEnd + 2
      if (this.rest.length < at + size + 2) return undefined
      if (size === 0) return { bytes: Buffer.concat(chunks), end: at + 2 }
      chunks.push(this.rest.subarray(at, at + size))
      at += size + 2
    }
  }
}
