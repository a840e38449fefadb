import { spyOn } from 'bun:test'
import { run } from '../../src/cli/program.ts'

/** How a run of a command ended. */
export interface Finished {
  code: number
  stdout: string
  stderr: string
}

/**
 * Runs `axport ARGS` in this process, with this environment alone. An executable would spend 50 to 150 ms of processor
 * time on its start and on compiling the code that it runs. One command runs after the other: the environment, the folder
 * and the output are those of the process.
 */
export function runInProcess(
  args: string[],
  env: Record<string, string> = {},
  cwd?: string,
): Promise<Finished> {
  const running = last.then(() => runAlone(args, env, cwd))
  last = running.catch(() => {})
  return running
}

let last: Promise<unknown> = Promise.resolve()

async function runAlone(args: string[], env: Record<string, string>, cwd?: string): Promise<Finished> {
  const environment = { ...process.env }
  const folder = process.cwd()
  const output = { stdout: '', stderr: '' }
  const spies = (['stdout', 'stderr'] as const).map(name =>
    spyOn(process[name], 'write').mockImplementation((text, ...more) => {
      output[name] += text
      const onWritten = more.at(-1) as (() => void) | undefined
      onWritten?.()
      return true
    }),
  )
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
  try {
    if (cwd) process.chdir(cwd)
    return { code: await run(args), ...output }
  } finally {
    process.chdir(folder)
    for (const name of Object.keys(env)) delete process.env[name]
    Object.assign(process.env, environment)
    for (const spy of spies) spy.mockRestore()
  }
}
