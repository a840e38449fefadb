// bun --preload kill-at.ts src/main.ts …: kills the process before the step of KILL_AT, the first one being 1. A step is
// a call that changes a file, of those that src/files.ts makes.
import fs from 'node:fs'

const STEPS = ['openSync', 'writeSync', 'chmodSync', 'fsync', 'fsyncSync', 'renameSync', 'rmSync'] as const
const last = Number(process.env.KILL_AT)

let steps = 0
for (const name of STEPS) {
  const call = fs[name] as (...args: unknown[]) => unknown
  Object.assign(fs, {
    [name]: (...args: unknown[]) => {
      steps += 1
      if (steps === last) process.kill(process.pid, 'SIGKILL')
      return call(...args)
    },
  })
}
