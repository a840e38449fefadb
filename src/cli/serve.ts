import { Command, Option } from 'commander'
import { readWorkers } from './workers.ts'

interface Options {
  workers?: number | 'auto'
  worker?: number
}

/** axport serve */
export function serveCommand(): Command {
  return new Command('serve')
    .description('Serve the HTTP API until SIGTERM or Ctrl-C.')
    .option('--workers <n>', 'processes that share the port: a number, or auto for one a core', readWorkers)
    .addOption(
      new Option('--worker <n>', 'which worker of a supervisor this is').argParser(Number).hideHelp(),
    )
    .addHelpText(
      'after',
      '\nExample: DATABASE_URL=postgres://axport@db.internal/axport HOST=0.0.0.0 axport serve --workers auto',
    )
    .action(async ({ workers, worker }: Options) => {
      // Loaded here, so that no other command evaluates the service.
      const { serveAlone, serveAsWorker, serveWithWorkers } = await import('./serving.ts')
      if (worker !== undefined) await serveAsWorker(worker)
      else if (workers !== undefined) await serveWithWorkers(workers)
      else await serveAlone()
    })
}
