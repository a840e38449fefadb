import { handleStray } from './cli/process.ts'
import { run } from './cli/program.ts'

for (const event of ['uncaughtException', 'unhandledRejection'] as const)
  process.on(event, (error: unknown) => handleStray(error, () => process.exit(1)))

process.exit(await run(process.argv.slice(2)))
