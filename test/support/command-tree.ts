import { axport, commandsOf } from './executable.ts'

/** One level of the command line, as its own --help shows it. */
export interface CommandLevel {
  /** [] for axport itself, ["integration", "create"] for a command of a command. */
  path: string[]
  help: string
  commands: string[]
  /** Long names, with their dashes. */
  options: string[]
  /** Those of the options that take a value. */
  withValue: string[]
  /** What an argument may be, where that is a list. */
  choices: string[]
  hasArgument: boolean
}

/** Every level there is, read from the help texts. */
export async function commandTree(path: string[] = []): Promise<CommandLevel[]> {
  const { code, stdout: help, stderr } = await axport([...path, '--help'])
  if (code !== 0 || stderr !== '') throw new Error(`axport ${path.join(' ')} --help: ${code}, ${stderr}`)
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
