import type { Socket } from 'bun'

/** What of an answer is looked at: reading more would cost more than sending it. */
export interface Answer {
  status: number
  /** Of the body, as it came. */
  bytes: number
}

/** One keep-alive connection of the load: sends a request, waits for the whole answer, looks at its head only. */
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
      // A request is some hundred bytes on a connection with nothing in flight: it is always taken whole.
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
      // What stood in earlier chunks was head as well, so the head's end lies in this one.
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

/** What a text begins with, when that is a whole head: how long it is, and how many bytes follow. */
function readHead(text: string): (Answer & { length: number; missing: number }) | undefined {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const length = end + 4
  const status = Number(text.slice(9, 12))
  const told = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, end))?.[1]
  if (told !== undefined) return { status, bytes: Number(told), length, missing: Number(told) }
  // A large body is one chunk, behind which an empty one ends the answer.
  const size = /^([\da-f]+)\r\n/.exec(text.slice(length))?.[1]
  if (size === undefined) return undefined
  const bytes = Number.parseInt(size, 16)
  return { status, bytes, length: length + size.length + 2, missing: bytes + '\r\n0\r\n\r\n'.length }
}
