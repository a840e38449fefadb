import { Command, CommanderError, type CommandUnknownOpts } from '@commander-js/extra-typings'
import { dropForeignSettings } from '../config.ts'
import { describeError } from '../database/describe-error.ts'
import { Interrupted, UsageFailure } from '../errors.ts'
import { newCommand } from './arguments.ts'
import { configCommand } from './config.ts'
import { demoCommand } from './demo.ts'
import { disclosuresCommand } from './disclosures.ts'
import { doctorCommand } from './doctor.ts'
import { eraseCommand } from './erase.ts'
import { erasuresCommand } from './erasures.ts'
import { healthCommand } from './health.ts'
import { importCommand } from './import.ts'
import { integrationCommand } from './integration/index.ts'
import { migrateCommand } from './migrate.ts'
import { pullCommand } from './pull.ts'
import { refreshCommand } from './refresh.ts'
import { sampleCommand } from './sample.ts'
import { serveCommand } from './serve.ts'
import { VERSION, versionCommand } from './version.ts'

/** Runs one command, and returns its exit code (see errors.ts). An error is one line on standard error. */
export async function run(args: string[]): Promise<number> {
  try {
    await program(args).parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    const line = describeError(error, args[0])
    if (line !== '') process.stderr.write(`axport: ${line}\n`)
    if (error instanceof Interrupted) return 130
    return error instanceof UsageFailure ? 2 : 1
  }
}

function program(args: string[]): CommandUnknownOpts {
  const program: CommandUnknownOpts = newCommand(
    'axport',
    'The Assessment Export Service: a read-only HTTP API over Postgres, and its command line.',
    'Settings come from the environment: DATABASE_URL, HOST, PORT, … (axport config shows them).\n\nExample: axport demo',
  )
    .version(VERSION, '-v, --version', 'print the version')
    .addCommand(demoCommand())
    .addCommand(serveCommand())
    .addCommand(migrateCommand())
    .addCommand(importCommand(args))
    .addCommand(refreshCommand())
    .addCommand(integrationCommand())
    .addCommand(disclosuresCommand())
    .addCommand(eraseCommand())
    .addCommand(erasuresCommand())
    .addCommand(pullCommand())
    .addCommand(sampleCommand())
    .addCommand(doctorCommand())
    .addCommand(healthCommand())
    .addCommand(configCommand())
    .addCommand(versionCommand())
    .hook('preAction', (_, command) => refuseBlanks(command))
    .hook('preAction', (_, command) => ignoreForeignSettings(command))
  program.addCommand(helpCommand(program), { hidden: true })
  return configure(program, 'axport')
}

/** Refuses blank arguments and options, as an unset variable of a script gives. @throws UsageFailure that names one */
function refuseBlanks(command: CommandUnknownOpts): void {
  const isBlank = (value: unknown) => typeof value === 'string' && value.trim() === ''
  const blank =
    command.registeredArguments.find((_, at) => isBlank(command.args[at]))?.name() ??
    command.options.find(option => isBlank(command.getOptionValue(option.attributeName())))?.long
  if (blank !== undefined)
    throw new UsageFailure(`${blank} is blank: give a value, or leave it out if it is optional`)
}

const WITHOUT_DATABASE = ['demo', 'pull', 'health', 'sample', 'version', 'help']

/** Takes variables that postgres.js would use as settings out of the environment, and says so. */
function ignoreForeignSettings(command: CommandUnknownOpts): void {
  const ignored = dropForeignSettings()
  if (ignored.length === 0 || WITHOUT_DATABASE.includes(command.name())) return
  const names = `${ignored.join(', ')} ${ignored.length === 1 ? 'is' : 'are'} ignored`
  process.stderr.write(`axport: ${names}: DATABASE_URL alone names the database\n`)
}

/** axport help [COMMAND]: what --help of that command prints. */
function helpCommand(program: CommandUnknownOpts) {
  return new Command('help').argument('[command...]').action(words => {
    let command: CommandUnknownOpts | undefined = program
    for (const word of words) command = command?.commands.find(child => child.name() === word)
    if (!command) throw new UsageFailure(`unknown command '${words.join(' ')}' (see axport --help)`)
    command.help()
  })
}

/** Gives a command and those below it the settings that commander passes down only to commands that it made itself. */
function configure(command: CommandUnknownOpts, path: string): CommandUnknownOpts {
  for (const child of command.commands) configure(child, `${path} ${child.name()}`)
  const outputError = (text: string, write: (line: string) => void) => {
    const line = text
      .replace(/^error: /, '')
      // An argument too many may be an email.
      .replace(/( but got \d+): .*$/s, '$1')
      .replace(/^command-argument value '(.*)' is invalid for argument '.*?'\. /s, `'${path.slice(7)} $1': `)
      .trim()
      .replaceAll(/\s*\n\s*/g, ' ')
      // The user and password of a URL that was given as an argument.
      .replaceAll(/:\/\/[^\s'/]*@/g, '://***@')
      // An email that was given in place of an id.
      .replaceAll(/[^\s'"=:/*]+@[^\s'"/]+/g, '***')
    write(`axport: ${line}${/ is invalid\. /.test(line) ? '' : ` (see ${path} --help)`}\n`)
  }
  return command
    .helpOption('-h, --help', 'print help')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({ outputError })
}
