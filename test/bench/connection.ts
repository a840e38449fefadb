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
    let body = chunk.length
    if (!this.answer) {
      this.head += chunk.toString('latin1', 0, Math.min(chunk.length, 4096))
      const end = this.head.indexOf('\r\n\r\n')
      if (end < 0) return
      // What stood in earlier chunks was head as well, so the head's end lies in this one.
      body = chunk.length - (end + 4 - (this.head.length - Math.min(chunk.length, 4096)))
      this.answer = this.readHead(this.head.slice(0, end))
      this.missing = this.answer.bytes
      this.head = ''
    }
    this.missing -= body
    if (this.missing > 0) return
    const answer = this.answer
    this.answer = undefined
    this.resolve?.(answer)
  }

  private readHead(head: string): Answer {
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
    if (length === undefined) this.reject?.(new Error(`an answer without content-length: ${head}`))
    return {
      status: Number(head.slice(9, 12)),
      bytes: Number(length),
    }
  }
}
