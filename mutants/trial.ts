import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cluster } from '../test/support/cluster.ts'
import { type Mutant, mutated } from './mutant.ts'
import { refusalOf } from './schema.ts'

/**
 * The outcome of a mutant. An invalid mutant does not compile, or makes a schema into which no data can be imported, so
 * it shows nothing about the tests.
 */
export type Outcome = 'killed' | 'timeout' | 'survived' | 'invalid'

/** The outcome, and its reason: the test that failed, or the error of an invalid mutant. */
interface Verdict {
  outcome: Outcome
  by: string
}

/** Milliseconds for the tests of one mutant. The slowest take half a minute on an idle machine. */
const TIMEOUT_MS = 300_000

/**
 * Parts of names of tests that do not run: tests on the embedded database, which uses the same SQL and takes five times
 * as long, tests of the contract on the executable, the longest properties, and tests of the texts of statements.
 */
export const LEFT_OUT = [
  'embedded',
  'serve --workers 2',
  'of any sequence',
  'equals the statement that the service sends',
]
const QUICK = `^(?!.*(?:${LEFT_OUT.join('|')}))`

/** Copies the project at `root`, with links to its packages and its history. Mutants are only tried in copies. */
export function copyOf(root: string): { root: string; remove(): void } {
  const copy = mkdtempSync(join(tmpdir(), 'axport-mutants-'))
  for (const name of [
    'src',
    'db',
    'test',
    'docs',
    'bench',
    'mutants',
    'scripts',
    'package.json',
    'bunfig.toml',
    'tsconfig.json',
  ])
    cpSync(join(root, name), join(copy, name), { recursive: true })
  // Programs that a test builds ask Git for their commit.
  for (const name of ['node_modules', '.git']) symlinkSync(join(root, name), join(copy, name))
  return { root: copy, remove: () => rmSync(copy, { recursive: true, force: true }) }
}

/** Tries one mutant with these test files in the copy at `root`, and restores the copy. */
export async function tryMutant(root: string, mutant: Mutant, tests: string[]): Promise<Verdict> {
  const file = join(root, mutant.path)
  const isSql = mutant.path.endsWith('.sql')
  const source = await Bun.file(file).text()
  await Bun.write(file, mutated(source, mutant))
  try {
    const refusal = isSql ? await refusalOf(join(root, 'db', 'migrations')) : undefined
    if (refusal) return { outcome: 'invalid', by: refusal }
    const verdict = await runTests(root, tests)
    // The compiler is slow, so only surviving mutants are compiled.
    const wrong = verdict.outcome === 'survived' && !isSql ? await typeError(root) : undefined
    return wrong ? { outcome: 'invalid', by: wrong } : verdict
  } finally {
    await Bun.write(file, source)
  }
}

/** Runs test files in their order up to the first failure. Without a failure, the mutant has survived. */
export async function runTests(root: string, tests: string[]): Promise<Verdict> {
  const server = await cluster()
  const folder = join(root, 'run')
  // An executable that a test of another mutant has built must not be tested again.
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  const { isKilled, code, output } = await run(
    [process.execPath, 'test', '--bail', '--timeout=60000', '-t', QUICK, ...tests],
    root,
    { TEST_DATABASE_URL: server.url(), TEST_RUN_FOLDER: folder },
  )
  if (isKilled) return { outcome: 'timeout', by: `${TIMEOUT_MS / 1000} s` }
  if (code === 0) return { outcome: 'survived', by: '' }
  const failed = /^\(fail\) (.*?)(?: \[[\d.]+ms\])?$/m.exec(output)?.[1]
  const isLoaded = /^\((?:pass|fail)\)/m.test(output)
  return { outcome: isLoaded ? 'killed' : 'invalid', by: failed ?? firstError(output) }
}

/** Options of the compiler. Unused variables do not make a mutant invalid. */
const TYPES = ['--noEmit', '--noUnusedLocals', 'false', '--noUnusedParameters', 'false']

async function typeError(root: string): Promise<string | undefined> {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const { code, output } = await run([process.execPath, compiler, ...TYPES], root, {})
  return code === 0 ? undefined : (output.split('\n')[0] ?? 'a type error')
}

async function run(command: string[], cwd: string, env: Record<string, string>) {
  const child = Bun.spawn(command, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
    killSignal: 'SIGKILL',
  })
  const [out, error] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  return { isKilled: child.signalCode === 'SIGKILL', code: child.exitCode, output: out + error }
}

const firstError = (output: string) => /^.*\berror\b.*$/im.exec(output)?.[0] ?? 'no test ran'
