// Makes the executable: `bun scripts/build.ts [--outfile dist/axport]`.
import { rmSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

const root = join(import.meta.dir, '..')

/** Bundles src/main.ts, what it imports and Bun itself into one file, `outfile`. */
async function build(outfile: string): Promise<void> {
  // A failed build must not leave an older executable behind for the tests to find.
  rmSync(outfile, { force: true })
  await Bun.build({
    entrypoints: [join(root, 'src', 'main.ts')],
    target: 'bun',
    format: 'esm',
    // Renamed identifiers break Elysia's routes, which are compiled from their functions' source text.
    minify: { whitespace: true, syntax: true, identifiers: false },
    // Compiled ahead: `--help` answers in 10 ms instead of 50.
    bytecode: true,
    // Without it an unexpected error prints pages of squeezed library code instead of a file and a line.
    sourcemap: 'linked',
    define: {
      AXPORT_COMMIT: JSON.stringify(commit()),
      // Fixed at build time in any case; otherwise to "development".
      'process.env.NODE_ENV': '"production"',
    },
    compile: {
      outfile,
      // Settings come from the environment only, not from files in the folder where an operator happens to be.
      autoloadDotenv: false,
      autoloadBunfig: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
    },
  })
  // The executable has its source map inside.
  rmSync(`${outfile}.map`, { force: true })
}

/** Empty where there is no git or no repository, as in a source archive. */
function commit(): string {
  if (!Bun.which('git')) return ''
  const { success, stdout } = Bun.spawnSync(['git', 'rev-parse', '--short', 'HEAD'], {
    cwd: root,
    stderr: 'ignore',
  })
  return success ? stdout.toString().trim() : ''
}

const { values } = parseArgs({
  args: Bun.argv.slice(2),
  options: { outfile: { type: 'string', default: join(root, 'dist', 'axport') } },
})
const outfile = resolve(values.outfile)
const start = performance.now()
try {
  await build(outfile)
} catch (error) {
  // Printed as objects: that shows the file, the line and the code.
  for (const cause of error instanceof AggregateError ? error.errors : [error]) console.error(cause)
  process.exit(1)
}
const seconds = ((performance.now() - start) / 1000).toFixed(1)
console.log(`${outfile}: ${(statSync(outfile).size / 1e6).toFixed(0)} MB in ${seconds} s`)
