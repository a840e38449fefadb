import { Option } from '@commander-js/extra-typings'
import { databaseUrl } from '../config.ts'
import { UsageFailure } from '../errors.ts'
import { countWorkers, newCommand, readWorkers } from './arguments.ts'
import { checkServing } from './serve-check.ts'
import { ServingProcess } from './serving.ts'
import { configuredStandbys } from './standbys.ts'
import { Supervisor } from './supervisor.ts'
import { serveAsWorker } from './worker.ts'

/** axport serve */
export const serveCommand = () =>
  newCommand(
    'serve',
    'Serve the HTTP API until SIGTERM or Ctrl-C.',
    'Example: DATABASE_URL=postgres://axport@db.internal/axport HOST=0.0.0.0 axport serve --workers auto',
  )
    .option('--workers <n>', 'processes that share the port; auto: one per CPU core', readWorkers)
    .option('--check', 'read the settings and connect, serve nothing, and say whether serve could start')
    .addOption(new Option('--worker <n>', 'the number of a worker').argParser(Number).hideHelp())
    .action(async ({ workers, check, worker }) => {
      if (worker !== undefined) return await serveAsWorker(worker)
      configuredStandbys()
      const isEmbedded = databaseUrl().startsWith('embedded:')
      if (isEmbedded && typeof workers === 'number' && workers > 1)
        throw new UsageFailure('the embedded database has one process: leave out --workers, or use Postgres')
      if (check) return await checkServing()
      await using serving = new ServingProcess()
      if (workers === undefined || isEmbedded)
        return await serving.withDatabase(database => serving.serve(database))
      // Each worker opens the database itself; this is the one wait until it can be opened.
      const isOpen = await serving.withDatabase(async () => true)
      if (isOpen) await new Supervisor(serving).run(countWorkers(workers))
    })
