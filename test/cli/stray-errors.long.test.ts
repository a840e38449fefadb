import { expect, test } from 'bun:test'
import { join } from 'node:path'

const PROCESS = join(import.meta.dir, '..', '..', 'src', 'cli', 'process.ts')

/** Runs a script that handles errors as the executable does: its exit code and standard error. */
function run(script: string): { code: number; stderr: string } {
  const handled = `
    import { handleStray } from '${PROCESS}'
    process.on('uncaughtException', error => handleStray(error, () => process.exit(1)))
    ${script}`
  const { exitCode: code, stderr } = Bun.spawnSync([process.execPath, '-e', handled])
  return { code, stderr: stderr.toString() }
}

const endsAfter = (ms: number, code: number) => `setTimeout(() => process.exit(${code}), ${ms})`

test('an error outside of any promise ends the process with one line', () => {
  const thrown = `setTimeout(() => { throw new Error('a fault\\n  of two lines') })`
  expect(run(`${thrown}; ${endsAfter(30_000, 0)}`)).toEqual({
    code: 1,
    stderr: 'axport: unexpected error: a fault of two lines\n',
  })
})

test('an error of a file outside of any promise ends the process, and one of a connection that was cut does not', () => {
  const thrown = (code: string) =>
    `setTimeout(() => { throw Object.assign(new Error('a fault'), { code: '${code}' }) }); ${endsAfter(500, 0)}`
  for (const code of ['ENOENT', 'EACCES', 'ENOSPC'])
    expect(run(thrown(code))).toEqual({ code: 1, stderr: 'axport: unexpected error: a fault\n' })
  for (const code of ['ECONNRESET', 'CONNECTION_CLOSED'])
    expect(run(thrown(code))).toEqual({ code: 0, stderr: '' })
})
