import { handleStray } from './cli/process.ts'
import { run } from './cli/program.ts'

process.on('uncaughtException', error => handleStray(error, () => process.exit(1)))

process.exit(await run(process.argv.slice(2)))
