import type { Socket } from 'node:net'

/** A connection of a client, which speaks the Postgres protocol (version 3). */
export class Client {
  /** The startup packet, which has no type, has been read. */
  isStarted = false
  /** The messages of the batch that is still arriving. */
  batch: Buffer[] = []
  /** A Flush has sent the beginning of the batch to the engine, and no Sync has ended it yet. */
  isFlushed = false
  /** The names of its prepared statements. */
  readonly statements = new Set<string>()
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

  /** Ends the connection with a FATAL error of that SQLSTATE. */
  refuse(code: string, reason: string): void {
    this.socket.write(message('E', `SFATAL\0VFATAL\0C${code}\0M${reason}\0\0`))
    // Without a ReadyForQuery, the first query of postgres.js' next connection fails with this error or gets no answer.
    this.socket.write(message('Z', 'I'))
    this.socket.destroy()
  }
}

/** The startup packet of the engine's one session. */
export const STARTUP = Buffer.from('\0\0\0\x29\0\x03\0\0user\0postgres\0database\0postgres\0\0')
const SYNC = message('S')
/** Closes the unnamed prepared statement. */
export const CLOSE_UNNAMED = Buffer.concat([message('C', 'S\0'), SYNC])

/** Follows every statement: without it, the engine would find no data for a COPY FROM STDIN, and exit. */
export const COPY_FAIL = message('f', 'the embedded database cannot COPY FROM STDIN\0')

/** Limits the write-ahead log: the engine has no checkpointer process. */
export const CHECKPOINT_IF_DUE = message(
  'Q',
  `do $$ begin
     if pg_current_wal_lsn() - (select redo_lsn from pg_control_checkpoint()) > 64 * 1024 * 1024 then
       checkpoint;
     end if;
   end $$\0`,
)

function message(type: string, body = ''): Buffer {
  const bytes = Buffer.from(`${type}\0\0\0\0${body}`)
  bytes.writeUInt32BE(bytes.length - 1, 1)
  return bytes
}

/** A text that ends in NUL, as the protocol writes names. */
export function text(bytes: Buffer, from: number): string {
  return bytes.toString('utf8', from, bytes.indexOf(0, from))
}

/** 'I' outside a transaction, 'T' in one, 'E' in a failed one. @throws Error for an answer without ReadyForQuery */
export function transactionState(answer: Buffer): string {
  const [, state] = /^Z\0\0\0\x05(.)$/s.exec(answer.subarray(-6).toString('latin1')) ?? []
  if (state === undefined) throw new Error('the engine did not finish its answer')
  return state
}

/**
 * The messages that clean up after a closed connection. The first ROLLBACK aborts its batch, where a Sync alone would
 * commit; after an error the engine skips it, up to the Sync. The second one rolls its transaction back.
 */
export function cleanup(statements: Iterable<string>): Buffer {
  const rollback = message('Q', 'rollback\0')
  const reset = message('Q', 'reset session authorization; reset all\0')
  const closes = [...statements].map(name => message('C', `S${name}\0`))
  return Buffer.concat([rollback, SYNC, rollback, reset, ...closes, SYNC])
}
