import { axport, commandsOf } from './executable.ts'

/** A command or a group of commands, as its --help describes it. */
export interface CommandLevel {
  /** [] for axport itself, ["integration", "create"] for a command in a group. */
  path: string[]
  help: string
  commands: string[]
  /** Long names, with their dashes. */
  options: string[]
  /** The options that take a value. */
  withValue: string[]
  /** The allowed values of the argument, if the help text lists them. */
  choices: string[]
  hasArgument: boolean
}

/** Every command and group, read from the help texts. */
export async function commandTree(path: string[] = []): Promise<CommandLevel[]> {
  const { code, stdout: help, stderr } = await axport([...path, '--help'])
  if (code !== 0 || stderr !== '')
    throw new Error(`axport ${path.join(' ')} --help: exit code ${code}, ${stderr}`)
  const commands = commandsOf(help)
  const options = [...help.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)( <[^>]+>)?/gm)]
  const [, choices = ''] = /\(choices: ([^)]*)\)/.exec(help.replaceAll(/\s+/g, ' ')) ?? []
  const level = {
    path,
    help,
    commands,
    options: options.map(match => match[1] as string),
    withValue: options.filter(match => match[2]).map(match => match[1] as string),
    choices: [...choices.matchAll(/"(\w+)"/g)].map(match => match[1] as string),
    hasArgument: /^Arguments:$/m.test(help),
  }
  const below = await Promise.all(commands.map(name => commandTree([...path, name])))
  return [level, ...below.flat()]
}
