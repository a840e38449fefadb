import type { Socket } from 'bun'

/** The parts of an answer that the load reads. Reading more would cost more than sending the request. */
export interface Answer {
  status: number
  /** The length of the body as received. */
  bytes: number
}

/** One kept-alive connection of the load. It sends a request, waits for the whole answer, and parses the head only. */
export class Connection {
  private resolve: ((answer: Answer) => void) | undefined
  private reject: ((error: Error) => void) | undefined
  private answer: Answer | undefined
  private head = ''
  private missing = 0
  private socket: Socket | undefined

  static async open(hostname: string, port: number): Promise<Connection> {
    const connection = new Connection()
    connection.socket = await Bun.connect({
      hostname,
      port,
      socket: {
        data: (_socket, chunk) => connection.receive(chunk),
        close: () => connection.reject?.(new Error('the server closed the connection')),
        error: (_socket, error) => connection.reject?.(error),
      },
    })
    return connection
  }

  send(request: Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
      // The socket accepts a request of some hundred bytes completely, because nothing else is in flight.
      this.socket?.write(request)
    })
  }

  close(): void {
    this.reject = undefined
    this.socket?.end()
  }

  private receive(chunk: Buffer): void {
    let rest = chunk.length
    if (!this.answer) {
      const looked = Math.min(chunk.length, 4096)
      this.head += chunk.toString('latin1', 0, looked)
      const head = readHead(this.head)
      if (!head) return
      // Earlier chunks contained only parts of the head, so the head ends in this chunk.
      rest -= head.length - (this.head.length - looked)
      this.answer = head
      this.missing = head.missing
      this.head = ''
    }
    this.missing -= rest
    if (this.missing > 0) return
    const answer = this.answer
    this.answer = undefined
    this.resolve?.(answer)
  }
}

/**
 * The head at the beginning of a text: its length, and the number of bytes that follow. undefined if it is incomplete.
 */
function readHead(text: string): (Answer & { length: number; missing: number }) | undefined {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const length = end + 4
  const status = Number(text.slice(9, 12))
  const contentLength = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, end))?.[1]
  if (contentLength !== undefined)
    return { status, bytes: Number(contentLength), length, missing: Number(contentLength) }
  // A large body is one chunk, and an empty chunk ends the answer.
  const size = /^([\da-f]+)\r\n/.exec(text.slice(length))?.[1]
  if (size === undefined) return undefined
  const bytes = Number.parseInt(size, 16)
  return { status, bytes, length: length + size.length + 2, missing: bytes + '\r\n0\r\n\r\n'.length }
}
