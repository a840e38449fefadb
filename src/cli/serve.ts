import { Command, Option } from 'commander'
import { readWorkers, type Workers } from './arguments.ts'

/** axport serve */
export function serveCommand(): Command {
  return new Command('serve')
    .description('Serve the HTTP API until SIGTERM or Ctrl-C.')
    .option(
      '--workers <n>',
      'processes that share the port: a number, or auto for one per CPU core',
      readWorkers,
    )
    .addOption(
      new Option('--worker <n>', 'the number of this worker of a supervisor').argParser(Number).hideHelp(),
    )
    .addHelpText(
      'after',
      '\nExample: DATABASE_URL=postgres://axport@db.internal/axport HOST=0.0.0.0 axport serve --workers auto',
    )
    .action(async ({ workers, worker }: { workers?: Workers; worker?: number }) => {
      // Imported here, so that other commands do not load the service.
      if (worker !== undefined) await (await import('./worker.ts')).serveAsWorker(worker)
      else if (workers !== undefined) await (await import('./supervisor.ts')).serveWithWorkers(workers)
      else await (await import('./serving.ts')).serveAlone()
    })
}
