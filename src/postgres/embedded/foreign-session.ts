import {
  columnsOf,
  errorMessage,
  message,
  messagesIn,
  READY,
  reset,
  SYNC,
  typeOf,
} from './pglite-messages.ts'

/*
 * PGlite is one backend, and so one session. What axport's own connections change in it ends with their transactions.
 * Other programs, such as psql, change it for longer. Their settings are put back before each of their turns, and the
 * session is made as new after it. What cannot be put back is dropped, and the program gets an error that says so.
 * DISCARD and DEALLOCATE drop the prepared statements of all connections: those of the others are made again.
 */

/** The part of a startup packet by which axport names itself (wire.ts). */
const OWN_NAME = '\0application_name\0axport\0'

let sessions = 0

/** Has the engine answer messages. */
type Execute = (bytes: Buffer) => Promise<Buffer>

/** The session of a connection of another program. */
export class ForeignSession {
  readonly #number = ++sessions
  /** Each Parse of the unnamed statement makes another statement in the engine, which still has the last one. */
  #unnamed = 0
  #replaced: string[] = []
  /** Calls that put back the settings that the last turn left. */
  #settings: string | undefined

  /**
   * Undefined for a connection of axport.
   * @param startup its startup packet
   * @param statements its prepared statements, as Client has them
   */
  static of(startup: Buffer, statements: Map<string, Buffer>): ForeignSession | undefined {
    return startup.includes(OWN_NAME) ? undefined : new ForeignSession(statements)
  }

  private constructor(private readonly statements: Map<string, Buffer>) {}

  /** A message with the name that its prepared statement has in the engine: others may use the same name. */
  renamed(received: Buffer): Buffer {
    const at = nameIn(received)
    if (at === undefined) return received
    const end = received.indexOf(0, at)
    const isNew = typeOf(received) === 'P'
    const name = Buffer.from(this.#nameOf(received.toString('utf8', at, end), isNew))
    const renamed = Buffer.concat([received.subarray(0, at), name, received.subarray(end)])
    renamed.writeUInt32BE(renamed.length - 1, 1)
    return renamed
  }

  #nameOf(given: string, isNew: boolean): string {
    if (given !== '') return `${this.#number}:${Bun.hash(given).toString(36)}`
    const unnamed = () => `${this.#number}.${this.#unnamed}`
    if (isNew) {
      this.#replaced.push(unnamed())
      this.#unnamed++
    }
    return unnamed()
  }

  /** Begins a turn. @returns false if the settings cannot be put back, as a role that was dropped */
  async begin(execute: Execute): Promise<boolean> {
    if (this.#settings === undefined) return true
    const answer = await execute(message('Q', `select ${this.#settings}\0`))
    return !messagesIn(answer).some(each => typeOf(each) === 'E')
  }

  /**
   * Ends a turn.
   * @param answer of the engine to the program
   * @param others the prepared statements of the other connections
   * @returns the answer, with an error at its end if something was dropped
   */
  async end(execute: Execute, answer: Buffer, others: Map<string, Buffer>): Promise<Buffer> {
    const [settings, dropped = 'settings', prepared = '[]'] = columnsOf(await execute(READ_LEFT))
    const replaced = this.#replaced.splice(0)
    await execute(reset(replaced))
    const kept = new Set<string>(JSON.parse(prepared))
    for (const name of this.statements.keys()) if (!kept.has(name)) this.statements.delete(name)
    for (const name of replaced) this.statements.delete(name)
    for (const [name, parse] of others)
      if (name !== '' && !kept.has(name)) await execute(Buffer.concat([parse, SYNC]))
    this.#settings = settings
    if (!dropped) return answer
    const reason = `the embedded database has one session for all programs, and dropped your ${dropped}: use them within one transaction`
    return Buffer.concat([answer.subarray(0, -READY.length), errorMessage('ERROR', '0A000', reason), READY])
  }
}

/** Where the name of a prepared statement begins in a message; undefined if the message has none. */
function nameIn(received: Buffer): number | undefined {
  const type = typeOf(received)
  if (type === 'P') return 5
  // After the name of the portal.
  if (type === 'B') return received.indexOf(0, 5) + 1
  const isOfStatement = (type === 'C' || type === 'D') && typeOf(received, 5) === 'S'
  return isOfStatement ? 6 : undefined
}

/**
 * Asks for the settings of the session, as calls that set them, for what else is left in it, in words, and for the names of
 * the prepared statements of all connections. The role comes last, because it may not be allowed to set the others. Names are qualified and the answer is hexadecimal, because
 * search_path and client_encoding may be among the settings.
 */
export const READ_LEFT = message(
  'Q',
  `select
    pg_catalog.encode(pg_catalog.convert_to((
      select pg_catalog.string_agg(
        pg_catalog.format('pg_catalog.set_config(%L, %L, false)', name, setting), ', ' order by place
      )
      from (
        select 1 as place, name, setting from pg_catalog.pg_settings
        where source = 'session'
          and name not in ('transaction_isolation', 'transaction_read_only', 'transaction_deferrable')
        union all
        select 2, 'session_authorization', session_user where session_user <> 'postgres'
        union all
        select 3, 'role', pg_catalog.current_setting('role') where pg_catalog.current_setting('role') <> 'none'
      ) as changed
    ), 'UTF8'), 'hex'),
    pg_catalog.encode(pg_catalog.convert_to(pg_catalog.concat_ws(', ',
      case when exists (
        select from pg_catalog.pg_depend
        where refclassid = 'pg_catalog.pg_namespace'::pg_catalog.regclass and refobjid = pg_catalog.pg_my_temp_schema()
      ) then 'temporary tables' end,
      case when exists (
        select from pg_catalog.pg_prepared_statements where from_sql
      ) then 'statements of PREPARE' end,
      case when exists (select from pg_catalog.pg_cursors where is_holdable) then 'cursors' end,
      case when exists (select from pg_catalog.pg_locks where locktype = 'advisory') then 'advisory locks' end,
      case when exists (select from pg_catalog.pg_listening_channels()) then 'channels of LISTEN' end
    ), 'UTF8'), 'hex'),
    pg_catalog.encode(pg_catalog.convert_to((
      select pg_catalog.json_agg(name)::text from pg_catalog.pg_prepared_statements where not from_sql
    ), 'UTF8'), 'hex')\0`,
)
