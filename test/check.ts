// Everything that has to be right, in order; the last line is `N passed, N failed`. Run by `bun run check`.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { auditDependencies } from './support/audit.ts'
import { countTests, type TestCounts } from './support/junit.ts'

const root = join(import.meta.dir, '..')
const executable = join(root, 'dist', 'axport')
const bun = process.execPath

/** Runs one step under a heading, its output passing through; says how long it took and whether it succeeded. */
async function step(name: string, command: string[], env: Record<string, string> = {}): Promise<boolean> {
  console.log(`\n== ${name}`)
  const start = performance.now()
  const run = Bun.spawn(command, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const ok = (await run.exited) === 0
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  console.log(`-- ${name}: ${ok ? 'ok' : 'FAILED'}, ${seconds} s`)
  return ok
}

/** All tests, with the executable that was just built; counted from the runner's own report. */
async function runTests(): Promise<TestCounts> {
  const folder = mkdtempSync(join(tmpdir(), 'axport-check-'))
  try {
    const report = join(folder, 'junit.xml')
    // The first test of a run waits for a Postgres to start, which takes its time on a busy machine.
    const options = ['--timeout=60000', '--reporter=junit', `--reporter-outfile=${report}`]
    const ok = await step('tests', [bun, 'test', ...options], { AXPORT_EXECUTABLE: executable })
    const files = [...new Bun.Glob('test/**/*.test.ts').scanSync(root)]
    return countTests(
      await Bun.file(report)
        .text()
        .catch(() => null),
      files,
      ok,
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The exact version, since the executable contains the Bun that builds it. */
async function wrongVersion(): Promise<string | null> {
  const { packageManager } = (await Bun.file(join(root, 'package.json')).json()) as { packageManager: string }
  if (packageManager === `bun@${Bun.version}`) return null
  return `this is Bun ${Bun.version}, the project needs ${packageManager}: npx -y ${packageManager} run check`
}

function finish({ passed, failed, skipped }: TestCounts): never {
  console.log(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  process.exit(failed > 0 ? 1 : 0)
}

const complaint = await wrongVersion()
if (complaint) {
  console.error(complaint)
  finish({ passed: 0, failed: 1, skipped: 0 })
}
// A failed step does not hide what the next ones have to say.
const modules = join(root, 'node_modules')
// On CI, Biome colours every single character of its output unless told not to.
const colors = process.stdout.isTTY ? [] : ['--colors=off']
const steps = [
  await step('format and lint', [bun, join(modules, '@biomejs', 'biome', 'bin', 'biome'), 'ci', ...colors]),
  await step('types', [bun, join(modules, 'typescript', 'bin', 'tsc'), '--noEmit']),
  auditDependencies(root),
  await step('build', [bun, join(root, 'test', 'build.ts'), '--outfile', executable]),
]
const tests = await runTests()
finish({ ...tests, failed: tests.failed + steps.filter(ok => !ok).length })
