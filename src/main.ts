import { run } from './cli/program.ts'

// postgres.js 3.4.9 throws where nobody can catch it when a connection is cut within a transaction. The database
// has rolled back by then; nothing is half-done.
process.on('uncaughtException', error => {
  process.stderr.write(`axport: unexpected error: ${error.message.replaceAll(/\s+/g, ' ')}\n`)
  process.exit(1)
})

process.exit(await run(process.argv.slice(2)))
