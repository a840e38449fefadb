import type { ReservedSql, Sql } from 'postgres'
import type { Lease, Leases, Runner } from '../../../src/database/statement.ts'

/** What a lease does to the statements of its connection: it runs them, or lets others run first. */
export type Through = (run: () => Promise<object>) => Promise<object>

/** Leases on the connections of a client of postgres.js, whose statements go through `through`. */
export function leasesOn(sql: Sql, through: Through = run => run()): Leases {
  const runner = (client: Sql): Runner => ({
    unsafe: (text, parameters, options) =>
      through(async () => {
        const query = client.unsafe(text, parameters, { prepare: options.prepare })
        return await (options.bytes ? query.raw() : query)
      }),
  })
  const lease: Leases['lease'] = async work => {
    // A transaction has one connection, and begins no other transaction.
    const client: Sql | ReservedSql = 'reserve' in sql ? await sql.reserve() : sql
    const control = (text: string) =>
      inOrder(async () => ('release' in client ? await client.unsafe(text) : []))
    // A statement that waits in `through` must not be overtaken by the COMMIT that was sent after it.
    let last: PromiseLike<unknown> = Promise.resolve()
    const inOrder = <Result>(run: () => PromiseLike<Result>) => {
      const next = last.then(run)
      last = next.then(
        () => {},
        () => {},
      )
      return next
    }
    const { unsafe } = runner(client)
    const held: Lease = {
      unsafe: (...statement) => inOrder(() => unsafe(...statement)),
      begin: () => void control('begin isolation level repeatable read, read only'),
      commit: async () => void (await control('commit')),
    }
    try {
      return await work(held)
    } finally {
      // As the service does, which ends the connection.
      await control('rollback')
      if ('release' in client) client.release()
    }
  }
  return { ...runner(sql), lease }
}

/** The same leases, which note the text of each statement, and neither BEGIN nor COMMIT. */
export function noting(leases: Leases, note: (text: string) => void): Leases {
  const noted =
    (runner: Runner): Runner['unsafe'] =>
    (text, ...rest) => {
      note(text)
      return runner.unsafe(text, ...rest)
    }
  return {
    unsafe: noted(leases),
    lease: work =>
      leases.lease(lease =>
        work({ unsafe: noted(lease), begin: () => lease.begin(), commit: () => lease.commit() }),
      ),
  }
}
