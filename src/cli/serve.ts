import { newCommand } from './arguments.ts'
import { checkServing } from './serve-check.ts'
import { ServingProcess } from './serving-process.ts'

/** axport serve */
export const serveCommand = () =>
  newCommand(
    'serve',
    'Serve the HTTP API until SIGTERM or Ctrl-C.',
    'Example: DATABASE_URL=postgres://axport@db.internal/axport HOST=0.0.0.0 axport serve',
  )
    .option('--check', 'read the settings and connect, serve nothing, and say whether serve could start')
    .action(async ({ check }) => {
      if (check) return await checkServing()
      await using serving = new ServingProcess()
      await serving.run()
    })
