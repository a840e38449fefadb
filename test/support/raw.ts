import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

/**
 * An answer as received. Header names are lower case; values of a repeated header are joined by ", " (RFC 9110 §5.3).
 */
export interface RawAnswer {
  status: number
  headers: Map<string, string>
  /** The body without the framing of chunks. A content coding is not decoded. */
  body: Buffer<ArrayBuffer>
}

/** Milliseconds that a server on a busy machine may take to answer or to close. */
const TIMEOUT_MS = 20_000

/** Connects to the host and port of a URL; by TLS if there is the certificate of an authority to trust. */
export function dial(url: string, ca?: string): RawConnection {
  const { hostname: host, port } = new URL(url)
  const address = { port: Number(port), host, noDelay: true }
  return new RawConnection(ca === undefined ? connect(address) : connectTls({ ...address, ca }))
}

/**
 * Sends one request that fetch would refuse or normalise, and reads its answer. `head` is the request line and the
 * headers; Host and "Connection: close" are added. Throws unless the server sends exactly one answer and closes.
 */
export async function exchange(
  url: string,
  head: readonly string[],
  body: string | Uint8Array = '',
): Promise<RawAnswer> {
  const [requestLine = '', ...headers] = head
  const connection = dial(url)
  connection.write(
    [requestLine, `Host: ${new URL(url).host}`, 'Connection: close', ...headers, '', ''].join('\r\n'),
  )
  connection.write(Buffer.from(body))
  try {
    const answer = await connection.next(requestLine.split(' ')[0])
    const rest = await connection.toEnd()
    if (answer && rest.length === 0) return answer
    throw new Error(`${requestLine} did not get exactly one answer; further bytes: ${rest.toString()}`)
  } finally {
    connection.destroy()
  }
}

/** A connection to a server; a test reads the answers one by one. */
export class RawConnection {
  readonly #socket: Socket
  #received: Buffer<ArrayBuffer> = Buffer.alloc(0)
  #isClosed = false
  #wake = () => {}

  constructor(socket: Socket) {
    this.#socket = socket
    // After a reset the reader only needs the `close` event, which follows.
    socket.on('error', () => {})
    socket.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk])
      this.#wake()
    })
    for (const end of ['end', 'close'] as const) {
      socket.on(end, () => {
        this.#isClosed = true
        this.#wake()
      })
    }
  }

  /** Whether the server has closed, or destroy() was called. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Received bytes that were not read yet. */
  get rest(): Buffer {
    return this.#received
  }

  /** Sends bytes. A string is sent as latin1, so that it can contain any byte. */
  write(bytes: string | Uint8Array): void {
    this.#socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
  }

  /** Ends the sending side of the connection (FIN). */
  end(): void {
    this.#socket.end()
  }

  /** Closes the connection at once. */
  destroy(): void {
    this.#isClosed = true
    this.#socket.destroy()
  }

  /**
   * The next answer, to a request with this method; an answer to HEAD has no body. Interim answers (1xx) are skipped.
   * undefined if the server closes before the answer is complete, or does not complete it within `deadline`
   * milliseconds.
   */
  async next(method = 'GET', deadline = TIMEOUT_MS): Promise<RawAnswer | undefined> {
    let taken: Taken | undefined
    await this.#waitUntil(() => {
      taken = takeAnswer(this.#received, method, false)
      return taken !== undefined
    }, deadline)
    taken ??= takeAnswer(this.#received, method, this.#isClosed)
    if (taken) this.#received = this.#received.subarray(taken.end)
    return taken?.answer
  }

  /** The bytes until the server closes; throws unless the server closes within `deadline` milliseconds. */
  async toEnd(deadline = TIMEOUT_MS): Promise<Buffer> {
    await this.#waitUntil(() => this.#isClosed, deadline)
    if (!this.#isClosed) throw new Error(`the server did not close within ${deadline} ms`)
    return this.#received
  }

  async #waitUntil(condition: () => boolean, deadline: number): Promise<void> {
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      this.#wake()
    }, deadline)
    while (!condition() && !this.#isClosed && !isLate) {
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
    clearTimeout(timer)
  }
}

/** An answer, and the offset at which it ends. */
interface Taken {
  answer: RawAnswer
  end: number
}

/** The first answer in the bytes (RFC 9112 §6); undefined if the bytes are incomplete or no answer. */
function takeAnswer(
  bytes: Buffer<ArrayBuffer>,
  method: string,
  isClosed: boolean,
  start = 0,
): Taken | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n', start)
  if (headEnd < 0) return undefined
  const [statusLine = '', ...lines] = bytes.subarray(start, headEnd).toString('latin1').split('\r\n')
  const [, status = ''] = /^HTTP\/1\.1 (\d{3})(?: |$)/.exec(statusLine) ?? []
  if (status === '') return undefined
  if (status.startsWith('1')) return takeAnswer(bytes, method, isClosed, headEnd + 4)
  const headers = readHeaders(lines)
  const body = takeBody(bytes, headEnd + 4, method, headers, isClosed)
  return body && { answer: { status: Number(status), headers, body: body.bytes }, end: body.end }
}

function readHeaders(lines: string[]): Map<string, string> {
  const headers = new Map<string, string>()
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    const known = headers.get(name)
    headers.set(name, known === undefined ? value : `${known}, ${value}`)
  }
  return headers
}

type Bytes = { bytes: Buffer<ArrayBuffer>; end: number }

function takeBody(
  bytes: Buffer<ArrayBuffer>,
  start: number,
  method: string,
  headers: Map<string, string>,
  isClosed: boolean,
): Bytes | undefined {
  if (method === 'HEAD') return { bytes: Buffer.alloc(0), end: start }
  if (headers.get('transfer-encoding') === 'chunked') return takeChunks(bytes, start)
  const length = headers.get('content-length')
  // RFC 9112 §6.3: a body without a length ends with the connection. Bun's own error answers have no body.
  if (length === undefined && headers.has('content-type'))
    return isClosed ? { bytes: bytes.subarray(start), end: bytes.length } : undefined
  const end = start + Number(length ?? 0)
  return bytes.length < end ? undefined : { bytes: bytes.subarray(start, end), end }
}

function takeChunks(bytes: Buffer<ArrayBuffer>, start: number): Bytes | undefined {
  const chunks: Buffer[] = []
  for (let at = start; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd < 0) return undefined
    const size = Number.parseInt(bytes.subarray(at, lineEnd).toString('latin1'), 16)
    const chunkEnd = lineEnd + 2 + size
    if (bytes.length < chunkEnd + 2) return undefined
    if (size === 0) return { bytes: Buffer.concat(chunks), end: chunkEnd + 2 }
    chunks.push(bytes.subarray(lineEnd + 2, chunkEnd))
    at = chunkEnd + 2
  }
}
