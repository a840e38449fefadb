import { isSurvived } from './cli/process.ts'
import { run } from './cli/program.ts'
import { describeError } from './errors.ts'

// postgres.js 3.4.9 throws outside of any promise when a connection is cut within a transaction. The database has rolled
// the transaction back: nothing is half-done.
process.on('uncaughtException', error => {
  if (isSurvived(error)) return
  const cause = /socket\.write/.test(error.message) ? { code: 'CONNECTION_CLOSED' } : error
  process.stderr.write(`axport: ${describeError(cause, process.argv[2])}\n`)
  process.exit(1)
})

process.exit(await run(process.argv.slice(2)))
