import type { Sql } from 'postgres'
import type { Runner } from '../../../src/database/statement.ts'

/** What happens to each statement: it runs, or lets others run first. */
export type Through = (run: () => Promise<object>) => Promise<object>

/** A client of postgres.js as the service's pool, whose statements go through `through`. */
export function runnerOn(sql: Sql, through: Through = run => run()): Runner {
  return {
    unsafe: (text, parameters, options) =>
      through(async () => {
        const query = sql.unsafe(text, parameters, { prepare: options.prepare })
        return await (options.bytes ? query.raw() : query)
      }),
  }
}

/** The same runner, which notes the text of each statement. */
export function noting(runner: Runner, note: (text: string) => void): Runner {
  return {
    unsafe: (text, ...rest) => {
      note(text)
      return runner.unsafe(text, ...rest)
    },
  }
}
