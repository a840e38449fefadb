import { rmSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dir, '..')

/**
 * Bundles src/main.ts, its imports and Bun itself into one file.
 * @param outfile the path of the file; an existing file is replaced, and removed if the build fails
 * @param target another machine, in Bun's notation (`bun-linux-arm64`); Bun downloads its runtime for that machine
 * @returns the origin of the code by file, in the format of esbuild's metafile (JSON)
 * @throws AggregateError of Bun.build, with a file and a line for each error
 */
export async function bundle(outfile: string, target?: Bun.Build.CompileTarget): Promise<string> {
  // After a failed build, the tests must not find an older executable.
  rmSync(outfile, { force: true })
  const { metafile } = await Bun.build({
    entrypoints: [join(root, 'src', 'main.ts')],
    target: 'bun',
    format: 'esm',
    // Elysia compiles routes from the source text of functions, which renamed identifiers would break.
    minify: { whitespace: true, syntax: true, identifiers: false },
    // With bytecode, `--help` takes 10 ms instead of 50.
    bytecode: true,
    // With a source map, an unexpected error prints a file and a line instead of pages of minified code.
    sourcemap: 'linked',
    metafile: true,
    define: {
      AXPORT_COMMIT: JSON.stringify(commit()),
      // Bun fixes NODE_ENV at build time; the default would be "development".
      'process.env.NODE_ENV': '"production"',
    },
    compile: {
      outfile,
      ...(target && { target }),
      // Settings come from the environment only, not from .env files in the operator's current folder.
      autoloadDotenv: false,
      autoloadBunfig: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
    },
  })
  // The executable contains the source map.
  rmSync(`${outfile}.map`, { force: true })
  return typeof metafile === 'string' ? metafile : JSON.stringify(metafile)
}

/** The commit of the sources for `axport version --json`; empty without git or a repository. */
export function commit(): string {
  if (!Bun.which('git')) return ''
  const { success, stdout } = Bun.spawnSync(['git', 'rev-parse', '--short', 'HEAD'], {
    cwd: root,
    stderr: 'ignore',
  })
  return success ? stdout.toString().trim() : ''
}
