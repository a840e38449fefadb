import { rmSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dir, '..')

/**
 * Bundles src/main.ts, what it imports and Bun itself into one file.
 * @param outfile replaced; nothing is there when the build fails
 * @param target another machine than this one, as Bun names it (`bun-linux-arm64-musl`): Bun fetches its runtime for it
 * @returns what came from which file, as esbuild's metafile has it (JSON)
 * @throws AggregateError of Bun.build, with a file and a line each
 */
export async function bundle(outfile: string, target?: Bun.Build.CompileTarget): Promise<string> {
  // A failed build must not leave an older executable behind for the tests to find.
  rmSync(outfile, { force: true })
  const { metafile } = await Bun.build({
    entrypoints: [join(root, 'src', 'main.ts')],
    target: 'bun',
    format: 'esm',
    // Renamed identifiers break Elysia's routes, which are compiled from their functions' source text.
    minify: { whitespace: true, syntax: true, identifiers: false },
    // Compiled ahead: `--help` answers in 10 ms instead of 50.
    bytecode: true,
    // Without it an unexpected error prints pages of squeezed library code instead of a file and a line.
    sourcemap: 'linked',
    metafile: true,
    define: {
      AXPORT_COMMIT: JSON.stringify(commit()),
      // Fixed at build time in any case; otherwise to "development".
      'process.env.NODE_ENV': '"production"',
    },
    compile: {
      outfile,
      ...(target && { target }),
      // Settings come from the environment only, not from files in the folder where an operator happens to be.
      autoloadDotenv: false,
      autoloadBunfig: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
    },
  })
  // The executable has its source map inside.
  rmSync(`${outfile}.map`, { force: true })
  return typeof metafile === 'string' ? metafile : JSON.stringify(metafile)
}

/** The commit of the sources, as `axport version --json` says it; empty where there is no git or no repository. */
export function commit(): string {
  if (!Bun.which('git')) return ''
  const { success, stdout } = Bun.spawnSync(['git', 'rev-parse', '--short', 'HEAD'], {
    cwd: root,
    stderr: 'ignore',
  })
  return success ? stdout.toString().trim() : ''
}
