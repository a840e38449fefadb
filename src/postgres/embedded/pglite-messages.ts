/**
 * The messages of the Postgres protocol (version 3) that stand between a connection and the embedded engine:
 * cutting them out of a stream, making the few that the engine is told on its own account.
 */

/** Cuts a stream of bytes into the frontend's messages. */
export class Messages {
  /** The startup packet, which has no type, is over. */
  started = false
  private chunks: Buffer[] = []
  private size = 0
  private wanted = 0

  private lengthOf(bytes: Buffer): number {
    const start = this.started ? 1 : 0
    if (bytes.length < start + 4) return start + 4
    const length = bytes.readUInt32BE(start)
    // Postgres' own limits.
    const limit = this.started && 'PBQdcf'.includes(String.fromCharCode(bytes[0] ?? 0)) ? 0x3fffffff : 10_000
    if (length < (this.started ? 4 : 8) || length > limit) throw new Error('invalid message length')
    return start + length
  }

  /** The messages that `chunk` completes. @throws Error for a length that the engine would die of */
  *take(chunk: Buffer): Generator<Buffer> {
    this.chunks.push(chunk)
    this.size += chunk.length
    // Only when there is enough: a message of many megabytes would be copied with every chunk.
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
}

/** What a client may send in place of a startup packet: a question for encryption, by its code. */
export const SSL_REQUEST = 80877103
export const GSS_REQUEST = 80877104
/** The startup packet by which the engine's one session begins. */
export const STARTUP = Buffer.from('\0\0\0\x29\0\x03\0\0user\0postgres\0database\0postgres\0\0')
const SYNC = message('S')
const ROLLBACK = message('Q', 'rollback\0')
const RESET = message('Q', 'reset session authorization; reset all\0')
/** The next connection must not find the unnamed statement of the one before. */
export const FORGET_UNNAMED = Buffer.concat([message('C', 'S\0'), SYNC])

/**
 * Follows whatever may be a COPY FROM STDIN, and is ignored otherwise: the engine reads only what it was
 * given and ends itself when that is not the data.
 */
export const COPY_FAIL = message('f', 'the embedded database cannot COPY FROM STDIN\0')

/** The engine has no checkpointer: without this the write-ahead log would grow until it is closed. */
export const CHECKPOINT_IF_DUE = message(
  'Q',
  `do $$ begin
     if pg_current_wal_lsn() - (select redo_lsn from pg_control_checkpoint()) > 64 * 1024 * 1024 then
       checkpoint;
     end if;
   end $$\0`,
)

/** A message of the frontend: its type, its length, its body. */
export function message(type: string, body = ''): Buffer {
  const bytes = Buffer.from(`${type}\0\0\0\0${body}`)
  bytes.writeUInt32BE(bytes.length - 1, 1)
  return bytes
}

/** A text that ends in NUL, as the protocol writes names. */
export function text(bytes: Buffer, from: number): string {
  return bytes.toString('utf8', from, bytes.indexOf(0, from))
}

/** 'I' outside a transaction, 'T' in one, 'E' in a failed one. @throws Error when the engine fell silent */
export function transactionState(answer: Buffer): string {
  const ready = answer.subarray(-6)
  if (ready.length < 6 || ready.readUInt32BE(1) !== 5 || ready[0] !== 'Z'.charCodeAt(0)) {
    throw new Error('the engine did not finish its answer')
  }
  return ready.toString('latin1', 5)
}

/**
 * What a connection that has gone would leave behind: a batch without its end, in which a ROLLBACK aborts
 * (a Sync alone would commit) unless an error makes the engine skip to the Sync; an open transaction;
 * settings; and prepared statements, 4 KB each, of which nobody knows the names any more.
 */
export function goodbye(statements: Iterable<string>): Buffer {
  const closes = [...statements].map(name => message('C', `S${name}\0`))
  return Buffer.concat([ROLLBACK, SYNC, ROLLBACK, RESET, ...closes, SYNC])
}
