import { ended, launch } from '../../support/executable.ts'
import type { Client } from './table.ts'
import type { Refusal } from './task.ts'

/** The JSON that a program prints at its end. */
export interface Seen {
  ids: number[]
  count?: number
  /** The lifetime of the last token in seconds, as the library reports it. */
  lifetime?: number
  /** The error answer, if there was one. It ended the run, unless the program continued with a new token. */
  refused?: Refusal
}

/** The environment of a program; see task.ts. */
export interface Task {
  baseUrl: string
  clientId: string
  clientSecret: string
  style: string
}

/**
 * Runs a client's program to its end. With `paused`, the program pauses after the first page and waits for `paused`.
 */
export async function perform(
  { command }: Pick<Client, 'command'>,
  task: Task,
  job: 'walk' | 'grant' | { paused: () => Promise<void> },
): Promise<Seen> {
  const env = {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    BASE_URL: task.baseUrl,
    CLIENT_ID: task.clientId,
    CLIENT_SECRET: task.clientSecret,
    STYLE: task.style,
    JOB: typeof job === 'string' ? job : 'pause',
  }
  const program = launch(await command(), { env, stdin: 'open' })
  const end = ended(program, {})
  if (typeof job !== 'string') {
    await program.shows(/^paused$/m)
    await job.paused()
    await program.stdin.write('go on\n')
  }
  program.stdin.end()
  const { code, stdout, stderr } = await end
  if (code !== 0) throw new Error(`exit code ${code}: ${stdout}${stderr}`)
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as Seen
}
