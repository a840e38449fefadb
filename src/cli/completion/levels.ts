import type { Command } from 'commander'

/** What may follow one command on the command line. */
export interface Level {
  /** "" for axport itself, "integration create" for a command of a command. */
  path: string
  /** Commands below it, and what its argument may be where that is a list. */
  words: string[]
  /** Long names, with their dashes. */
  options: string[]
  /** Those of the options that take a value. */
  withValue: string[]
  /** Whether its argument is a file. */
  takesFile: boolean
}

/** Every level of the command line, asked of the commands themselves. */
export function levels(command: Command, path: string[] = []): Level[] {
  const help = command.createHelp()
  const options = help.visibleOptions(command).filter(option => option.long)
  const commands = help.visibleCommands(command)
  const level = {
    path: path.join(' '),
    words: [
      ...commands.map(child => child.name()),
      ...command.registeredArguments.flatMap(argument => argument.argChoices ?? []),
    ],
    options: options.map(option => option.long ?? ''),
    withValue: options.filter(option => option.required).map(option => option.long ?? ''),
    takesFile: command.registeredArguments.some(argument => argument.name() === 'file'),
  }
  return [level, ...commands.flatMap(child => levels(child, [...path, child.name()]))]
}
