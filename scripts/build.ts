// Builds the executable for this machine: `bun scripts/build.ts [--outfile dist/axport]`.
import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { bundle } from './bundle.ts'

const { values } = parseArgs({
  args: Bun.argv.slice(2),
  options: { outfile: { type: 'string', default: join(import.meta.dir, '..', 'dist', 'axport') } },
})
const outfile = resolve(values.outfile)
const start = performance.now()
try {
  await bundle(outfile)
} catch (error) {
  // console.error() of an error object prints the file, the line and the code.
  for (const cause of error instanceof AggregateError ? error.errors : [error]) console.error(cause)
  process.exit(1)
}
const seconds = ((performance.now() - start) / 1000).toFixed(1)
console.log(`${outfile}: ${(statSync(outfile).size / 1e6).toFixed(0)} MB in ${seconds} s`)
