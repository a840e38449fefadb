import type { Socket } from 'node:net'
import type { ForeignSession } from './foreign-session.ts'
import { errorMessage, messagesIn, READY, text, typeOf } from './pglite-messages.ts'

/** A connection of a client, which speaks the Postgres protocol (version 3). */
export class Client {
  /** The startup packet, which has no type, has been read. */
  isStarted = false
  /** The messages of the batch that is still arriving. */
  batch: Buffer[] = []
  /** A Flush has sent the beginning of the batch to the engine, and no Sync has ended it yet. */
  isFlushed = false
  /** Its prepared statements: their names in the engine, and the Parse messages that made them. */
  readonly statements = new Map<string, Buffer>()
  /** Undefined for a connection of axport. */
  session: ForeignSession | undefined
  private chunks: Buffer[] = []
  private size = 0
  private wanted = 0

  constructor(readonly socket: Socket) {}

  /** The messages that `chunk` completes. @throws Error for a length that would crash the engine */
  *take(chunk: Buffer): Generator<Buffer> {
    this.chunks.push(chunk)
    this.size += chunk.length
    // Otherwise a message of many megabytes would be copied with every chunk.
    if (this.size < this.wanted) return
    let bytes = Buffer.concat(this.chunks)
    for (;;) {
      this.wanted = this.lengthOf(bytes)
      if (bytes.length < this.wanted) break
      yield bytes.subarray(0, this.wanted)
      bytes = bytes.subarray(this.wanted)
    }
    this.chunks = [bytes]
    this.size = bytes.length
  }

  private lengthOf(bytes: Buffer): number {
    const start = this.isStarted ? 1 : 0
    if (bytes.length < start + 4) return start + 4
    const length = bytes.readUInt32BE(start)
    // The limits of Postgres.
    const limit =
      this.isStarted && 'PBQdcf'.includes(String.fromCharCode(bytes[0] ?? 0)) ? 0x3fffffff : 10_000
    if (length < (this.isStarted ? 4 : 8) || length > limit) throw new Error('invalid message length')
    return start + length
  }

  /** Notes which prepared statements these messages make and close. */
  noteStatements(messages: Buffer): void {
    for (const each of messagesIn(messages)) {
      if (typeOf(each) === 'P') this.statements.set(text(each, 5), Buffer.from(each))
      if (typeOf(each) === 'C' && typeOf(each, 5) === 'S') this.statements.delete(text(each, 6))
    }
  }

  /** Ends the connection with a FATAL error of that SQLSTATE. */
  refuse(code: string, reason: string): void {
    this.socket.write(errorMessage('FATAL', code, reason))
    // Without a ReadyForQuery, the first query of postgres.js' next connection fails with this error or gets no answer.
    this.socket.write(READY)
    this.socket.destroy()
  }
}
