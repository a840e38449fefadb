// bun --preload copy-steps.ts src/main.ts …: copies the working folder into $COPIES/1 before the first step, and so on. A
// step is a call that changes a file, of those that src/output-file.ts makes.
import fs from 'node:fs'
import { join } from 'node:path'

const STEPS = ['openSync', 'writeSync', 'fchmodSync', 'fsync', 'fsyncSync', 'renameSync', 'rmSync'] as const
const copies = process.env.COPIES ?? ''

let steps = 0
for (const name of STEPS) {
  const call = fs[name] as (...args: unknown[]) => unknown
  Object.assign(fs, {
    [name]: (...args: unknown[]) => {
      // Not by cpSync(), which makes such calls itself.
      Bun.spawnSync(['cp', '-r', '.', join(copies, String(++steps))])
      return call(...args)
    },
  })
}
