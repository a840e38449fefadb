import { spyOn } from 'bun:test'
import { run } from '../../src/cli/program.ts'

/**
 * Runs `axport ARGS` in this process, with an empty environment. Meant for calls that are refused when they are parsed:
 * an executable would spend 50 ms of processor time on its start for each.
 */
export async function runInProcess(
  args: string[],
): Promise<{ code: number; stdout: string; stderr: string }> {
  const environment = { ...process.env }
  const output = { stdout: '', stderr: '' }
  const spies = (['stdout', 'stderr'] as const).map(name =>
    spyOn(process[name], 'write').mockImplementation(text => {
      output[name] += text
      return true
    }),
  )
  for (const name of Object.keys(process.env)) delete process.env[name]
  try {
    return { code: await run(args), ...output }
  } finally {
    Object.assign(process.env, environment)
    for (const spy of spies) spy.mockRestore()
  }
}
