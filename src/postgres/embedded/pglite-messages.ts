/** The startup packet of the engine's one session. */
export const STARTUP = Buffer.from('\0\0\0\x29\0\x03\0\0user\0postgres\0database\0postgres\0\0')
export const SYNC = message('S')
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

/** ReadyForQuery outside a transaction. */
export const READY = message('Z', 'I')

/** An ErrorResponse. */
export const errorMessage = (severity: 'ERROR' | 'FATAL', code: string, reason: string): Buffer =>
  message('E', `S${severity}\0V${severity}\0C${code}\0M${reason}\0\0`)

export function message(type: string, body = ''): Buffer {
  const bytes = Buffer.from(`${type}\0\0\0\0${body}`)
  bytes.writeUInt32BE(bytes.length - 1, 1)
  return bytes
}

/** The type of a message, or another letter in it. */
export const typeOf = (bytes: Buffer, at = 0): string => String.fromCharCode(bytes[at] ?? 0)

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
  return Buffer.concat([rollback, SYNC, rollback, reset(statements)])
}

/**
 * Makes the session as new, and closes these prepared statements. The engine has no session authorization to which RESET
 * could lead back.
 */
export function reset(statements: Iterable<string>): Buffer {
  const closes = [...statements].map(name => message('C', `S${name}\0`))
  return Buffer.concat([RESET, ...closes, SYNC])
}

const RESET = Buffer.concat([
  message('Q', 'set session authorization postgres; set role none; reset all\0'),
  message(
    'Q',
    `close all; unlisten *; select pg_advisory_unlock_all(); discard temp;
    do $$ declare statement text; begin
      for statement in select name from pg_prepared_statements where from_sql loop
        execute format('deallocate %I', statement);
      end loop;
    end $$\0`,
  ),
])

/** The messages in these bytes, each from its type on. */
export function* messagesIn(bytes: Buffer): Generator<Buffer> {
  for (let rest = bytes; rest.length > 0; ) {
    const size = 1 + rest.readUInt32BE(1)
    yield rest.subarray(0, size)
    rest = rest.subarray(size)
  }
}

/** The columns of the first row of an answer, which are text in hexadecimal, or null; none for an answer without a row. */
export function columnsOf(answer: Buffer): (string | undefined)[] {
  const row = messagesIn(answer).find(each => typeOf(each) === 'D')
  const columns: (string | undefined)[] = []
  for (let at = 7; row && at < row.length; ) {
    const size = row.readInt32BE(at)
    at += 4
    columns.push(size < 0 ? undefined : Buffer.from(row.toString('latin1', at, at + size), 'hex').toString())
    at += Math.max(0, size)
  }
  return columns
}
