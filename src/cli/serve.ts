import { Option } from '@commander-js/extra-typings'
import { newCommand, readWorkers } from './arguments.ts'

/** axport serve */
export const serveCommand = () =>
  newCommand(
    'serve',
    'Serve the HTTP API until SIGTERM or Ctrl-C.',
    'Example: DATABASE_URL=postgres://axport@db.internal/axport HOST=0.0.0.0 axport serve --workers auto',
  )
    .option(
      '--workers <n>',
      'processes that share the port: a number, or auto for one per CPU core',
      readWorkers,
    )
    .addOption(
      new Option('--worker <n>', 'the number of this worker of a supervisor').argParser(Number).hideHelp(),
    )
    .action(async ({ workers, worker }) => {
      // Imported here, so that other commands do not load the service.
      if (worker !== undefined) await (await import('./worker.ts')).serveAsWorker(worker)
      else if (workers !== undefined) await (await import('./supervisor.ts')).serveWithWorkers(workers)
      else await (await import('./serving.ts')).serveAlone()
    })
