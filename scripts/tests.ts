import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'

/** The tests to run: `fast` leaves out the files named *.long.test.ts. */
export type Tier = 'fast' | 'all'

/** One run of `bun test`: its files, its JUnit report if it wrote one, and whether it exited with 0. */
export interface TestRun {
  files: string[]
  report: string | null
  ok: boolean
}

/**
 * More processes than cores, because some tests wait for a socket or a time-out: on two cores, all tests took 640 s in 3
 * processes and 596 s in 4. Not many more, because then they wait for each other: fewer tests took 163 s in 3, and 227 s in 6.
 */
const PROCESSES_PER_CORE = 2

/** The file system in memory that Linux has, and the bytes that a run may need there. */
const MEMORY = '/dev/shm'
const NEEDED_BYTES = 8 * 2 ** 30

/**
 * The folder for temporary files: in memory, if there is enough of it and programs may run from there. Each database of
 * a test is hundreds of small files, and a disk may take a tenth of a second of processor time to make and remove them.
 * TMPDIR chooses another folder.
 */
function temporaryFolder(): string {
  if (process.env.TMPDIR) return tmpdir()
  try {
    const mount = new RegExp(`^\\S+ ${MEMORY} tmpfs (\\S+)`, 'm').exec(readFileSync('/proc/mounts', 'utf8'))
    const { bavail, bsize } = statfsSync(MEMORY)
    if (mount && !mount[1]?.includes('noexec') && bavail * bsize >= NEEDED_BYTES) return MEMORY
  } catch {
    // Not Linux.
  }
  return tmpdir()
}

/**
 * The test files of all tiers, as paths from `root`. Files named *.longest.test.ts are in no tier (`bun run
 * test:longest`).
 */
export const testFiles = (root: string) =>
  [...new Bun.Glob('test/**/*.test.ts').scanSync(root)]
    .filter(file => !file.endsWith('.longest.test.ts'))
    .sort()

export const isLong = (file: string) => file.endsWith('.long.test.ts')
const isAlone = (file: string) => file.includes('.alone.')

/**
 * Runs the tests of a tier with the executable at `executable`. Files named *.alone.* depend on the clock: they run
 * last, in a process for each core. All other files run in more concurrent processes. Each process has its own Postgres.
 * The slowest files start first. Failures are printed at once. `env` is added to the environment. `isTimed` records the
 * duration of each file in the tier's timings.
 */
export async function runTests(
  root: string,
  tier: Tier,
  executable: string,
  env: Record<string, string>,
  isTimed: boolean,
): Promise<TestRun[]> {
  const TMPDIR = temporaryFolder()
  const folder = mkdtempSync(join(TMPDIR, 'axport-check-'))
  // Some tests start programs as another user, with files in a folder of this one.
  chmodSync(folder, 0o711)
  const all = testFiles(root).filter(file => tier === 'all' || !isLong(file))
  const timings = [`--timings=scripts/timings.${tier}.json`, ...(isTimed ? ['--update-timings'] : [])]
  const given = {
    CHECK: tier,
    AXPORT_EXECUTABLE: executable,
    TEST_RUN_FOLDER: folder,
    TMPDIR,
    ...env,
  }
  const run = async (name: string, files: string[], processes: number): Promise<TestRun> => {
    const parallel = [`--parallel=${processes}`, '--no-isolate', ...timings]
    const report = join(folder, `${name}.xml`)
    // The first test of a process waits for a Postgres to start, which takes long on a busy machine.
    const common = ['--timeout=300000', '--only-failures', '--reporter=junit', `--reporter-outfile=${report}`]
    const command = [process.execPath, 'test', ...common, ...parallel, ...files.map(file => `./${file}`)]
    const { exited } = Bun.spawn(command, {
      cwd: root,
      env: { ...process.env, ...given },
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    const ok = (await exited) === 0
    const text = await Bun.file(report)
      .text()
      .catch(() => null)
    return { files, report: text, ok }
  }
  try {
    const cores = cpus().length
    const together = all.filter(file => !isAlone(file))
    const alone = all.filter(isAlone)
    return [
      await run('together', together, Math.ceil(cores * PROCESSES_PER_CORE)),
      // Without the name of a file, `bun test` would run every test.
      ...(alone.length > 0 ? [await run('alone', alone, cores)] : []),
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
