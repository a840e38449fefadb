import { sql } from 'drizzle-orm'
import type { Sql, TransactionSql } from 'postgres'
import { UncertainFailure } from '../errors.ts'
import { Interruption } from '../interruption.ts'
import { closedError, verdictOn } from './failures.ts'
import { rowsOf } from './orm.ts'

/** The connections of a command, which wait without a limit. */
export interface CommandSql extends Sql {
  /** Ends the connections. A plain client of postgres.js has none. */
  interruption?: Interruption
  /** The person who runs the command, for the history of integrations. */
  by?: string | undefined
}

/**
 * Runs a transaction of a command that writes: READ COMMITTED, and on the disk once it is reported as committed.
 * @returns the result of `work`, which is committed
 * @throws UncertainFailure, with that result, if the connection was lost after COMMIT was sent; the errors of `work`, of the
 * server and of a connection that was lost before, which have changed nothing
 */
export async function transact<Result>(
  db: CommandSql,
  work: (client: TransactionSql) => Promise<Result>,
): Promise<Result> {
  const interruption = db.interruption ?? new Interruption()
  const before = interruption.commit
  let failure: { error: unknown } | undefined
  let sent: { result: Result } | undefined
  try {
    await db.begin('isolation level read committed', async client => {
      try {
        await configure(client)
        const result = await work(client)
        await surviveCrash(client)
        if (interruption.isRequested) throw closedError()
        sent = { result }
        interruption.commit = 'sent'
      } catch (error) {
        failure = { error }
        throw error
      }
    })
  } catch (error) {
    // The connection may also have been lost while `work` was rolled back.
    if (!sent) throw failure?.error ?? error
    if (verdictOn(error) === 'cut') throw new UncertainFailure(sent.result)
    interruption.commit = before
    throw error
  }
  interruption.commit = 'done'
  return (sent as unknown as { result: Result }).result
}

/**
 * Sets for this transaction what openDatabase() asks for, because a pooler does not pass that on. A server on Windows does
 * not have the second setting.
 */
async function configure(client: TransactionSql): Promise<void> {
  await rowsOf(
    client,
    sql`
    do $$ begin
      set local row_security = off;
      begin
        set local client_connection_check_interval = '500ms';
      exception when invalid_parameter_value then null;
      end;
    end $$`,
  )
}

/**
 * Lets the commit survive a crash of the server, also where synchronous_commit is off. A higher setting stays. For this
 * transaction alone, because behind a pooler a session is shared.
 */
async function surviveCrash(client: TransactionSql): Promise<void> {
  await rowsOf(
    client,
    sql`select set_config('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'local'), true)`,
  )
}
