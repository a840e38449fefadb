import { isSurvived } from './cli/process.ts'
import { run } from './cli/program.ts'

// postgres.js 3.4.9 throws outside of any promise when a connection is cut within a transaction. The database has rolled
// the transaction back: nothing is half-done.
process.on('uncaughtException', error => {
  if (isSurvived(error)) return
  const isCut = /socket\.write/.test(error.message)
  const what = isCut ? 'the connection to the database was lost; nothing half-done is left' : error.message
  process.stderr.write(`axport: ${isCut ? '' : 'unexpected error: '}${what.replaceAll(/\s+/g, ' ')}\n`)
  process.exit(1)
})

process.exit(await run(process.argv.slice(2)))
