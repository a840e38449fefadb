import { Failure, UsageFailure } from '../errors.ts'

/** Refuses a change that cannot be undone where nobody can be asked. @throws UsageFailure that names `command` --yes */
export function requireTerminal(command: string): void {
  if (process.stdin.isTTY && process.stderr.isTTY) return
  throw new UsageFailure(`there is no terminal to confirm on: ${command} --yes`)
}

/**
 * Asks on the terminal for a line, which is typed again only by somebody who has read what it is for.
 * @param question what is about to happen, and what to type
 * @throws Failure with `otherwise` for any other line
 */
export async function confirm(question: string, answer: string, otherwise: string): Promise<void> {
  process.stderr.write(question)
  if ((await readLine())?.trim() !== answer) throw new Failure(otherwise)
}

/** The next line of standard input. */
export async function readLine(): Promise<string | undefined> {
  // biome-ignore lint/suspicious/noConsole: Bun reads lines of standard input through console.
  const { value } = await console[Symbol.asyncIterator]().next()
  return value
}
