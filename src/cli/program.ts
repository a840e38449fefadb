import { Command, CommanderError } from 'commander'
import { dropForeignSettings } from '../config.ts'
import { Interrupted, Kept, UsageFailure } from '../errors.ts'
import { backupCommand } from './backup.ts'
import { completeCommand, completionCommand } from './completion.ts'
import { configCommand } from './config.ts'
import { demoCommand } from './demo.ts'
import { describeError } from './describe-error.ts'
import { disclosuresCommand } from './disclosures.ts'
import { doctorCommand } from './doctor.ts'
import { eraseCommand } from './erase.ts'
import { importCommand } from './import.ts'
import { integrationCommand } from './integration/index.ts'
import { migrateCommand } from './migrate.ts'
import { pullCommand } from './pull.ts'
import { refreshCommand } from './refresh.ts'
import { restoreCommand } from './restore.ts'
import { sampleCommand } from './sample.ts'
import { serveCommand } from './serve.ts'
import { VERSION, versionCommand } from './version.ts'

/**
 * Runs one command. Exit codes: 0 done, 1 failed, 2 called wrongly, 75 unfinished with something kept, 130 interrupted.
 * Errors are one line on standard error that says what is wrong and what to do.
 */
export async function run(args: string[]): Promise<number> {
  dropForeignSettings()
  try {
    await program().parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    if (!(error instanceof Interrupted) || error.message)
      process.stderr.write(`axport: ${describeError(error, args[0])}\n`)
    if (error instanceof Interrupted) return 130
    if (error instanceof Kept) return 75
    return error instanceof UsageFailure ? 2 : 1
  }
}

function program(): Command {
  const program = new Command('axport')
    .description('The Assessment Export Service: a read-only HTTP API over Postgres, and its command line.')
    .version(VERSION, '-v, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand(false)
    .exitOverride()
    .addHelpText(
      'after',
      '\nSettings come from the environment: DATABASE_URL, HOST, PORT, … (axport config shows them).\n\n' +
        'Example: axport demo',
    )
  explainWrongCalls(program, 'axport')
  for (const command of [
    demoCommand(),
    serveCommand(),
    migrateCommand(),
    importCommand(),
    refreshCommand(),
    integrationCommand(),
    disclosuresCommand(),
    eraseCommand(),
    pullCommand(),
    sampleCommand(),
    backupCommand(),
    restoreCommand(),
    doctorCommand(),
    configCommand(),
    completionCommand(),
    versionCommand(),
  ]) {
    program.addCommand(inheriting(program, command, `axport ${command.name()}`))
  }
  // What people try first; --help is what the help texts name.
  for (const hidden of [helpCommand(program), completeCommand(program)])
    program.addCommand(inheriting(program, hidden, `axport ${hidden.name()}`), { hidden: true })
  return program
}

/** axport help [COMMAND]: what --help of that command prints. */
function helpCommand(program: Command): Command {
  return new Command('help').argument('[command...]').action((words: string[]) => {
    const named = (level: Command | undefined, word: string) =>
      level?.commands.find(command => command.name() === word)
    const command = words.reduce<Command | undefined>(named, program)
    if (!command) throw new UsageFailure(`unknown command '${words.join(' ')}' (see axport --help)`)
    command.help()
  })
}

/** Commands that are made on their own do not take over the settings of the program by themselves. */
function inheriting(parent: Command, command: Command, path: string): Command {
  command.copyInheritedSettings(parent).helpCommand(false)
  explainWrongCalls(command, path)
  for (const child of command.commands) inheriting(command, child, `${path} ${child.name()}`)
  return command
}

/** One line that ends in where to read on, but where it says already what a value has to be. */
function explainWrongCalls(command: Command, path: string): void {
  command.configureOutput({
    outputError: (text, write) => {
      const line = text
        .replace(/^error: /, '')
        .replace(
          /^command-argument value '(.*)' is invalid for argument '[^']*'\. /s,
          `'${path.slice(7)} $1': `,
        )
        .trim()
        .replaceAll(/\s*\n\s*/g, ' ')
      write(`axport: ${line}${/ is invalid\. /.test(line) ? '' : ` (see ${path} --help)`}\n`)
    },
  })
}
