import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type Finished, runInProcess } from './in-process.ts'
import { madeOnce } from './made-once.ts'

/**
 * The time limit of a test, in milliseconds. `bun test` kills the child processes of all tests when one test times out.
 */
export const TEST_TIMEOUT_MS = 300_000

/** A process of the executable that may still run. */
export interface Running {
  pid: number
  /** Everything on standard output so far. */
  stdout(): string
  stderr(): string
  /** Resolves as soon as standard output matches. Rejects if the process ends before. */
  shows(pattern: RegExp): Promise<RegExpExecArray>
  /** Standard input, if `stdin` is "open". A write resolves when the text is in the pipe. */
  stdin: { write(text: string): Promise<void>; end(): void }
  signal(name: 'SIGINT' | 'SIGTERM' | 'SIGKILL'): void
  /** undefined while the process runs. */
  exitCode(): number | undefined
  /** Resolves after the end of the process with its exit code and all output. */
  finished: Promise<Finished>
}

interface RunOptions {
  /** The whole environment of the process; variables of the tests are not passed on. */
  env?: Record<string, string>
  /** Default: an empty folder. */
  cwd?: string
  /** A text, the path of a file, or "open" for a pipe that the test writes to. Default: empty input. */
  stdin?: { text: string } | { file: string } | 'open'
  /** Milliseconds after which a process that is still running is killed; its exit code is then 137. */
  timeoutMs?: number
}

const children = new Set<Bun.Subprocess>()
const folders = new Set<string>()

/** The path of the executable: AXPORT_EXECUTABLE, or one that is built once for all processes of a test run. */
export function executable(): Promise<string> {
  const { AXPORT_EXECUTABLE: given } = process.env
  return given ? Promise.resolve(resolve(given)) : madeOnce('axport', outfile => build(outfile))
}

/** Builds an executable from the sources in `root`. */
export async function build(outfile: string, root = join(import.meta.dir, '..', '..')): Promise<void> {
  const script = join(root, 'scripts', 'build.ts')
  const run = Bun.spawn([process.execPath, script, '--outfile', outfile], {
    stdout: 'ignore',
    stderr: 'pipe',
  })
  const stderr = await new Response(run.stderr).text()
  if ((await run.exited) !== 0) throw new Error(`the executable cannot be built: ${stderr}`)
}

/** Makes an empty folder, which cleanUp() removes, and at the latest the end of the test run. */
export function emptyFolder(): string {
  const folder = mkdtempSync(join(process.env.TEST_RUN_FOLDER ?? tmpdir(), 'axport-run-'))
  folders.add(folder)
  return folder
}

/** Starts `axport ARGS` in an empty folder outside of this checkout. */
export async function start(args: string[], options: RunOptions = {}): Promise<Running> {
  return launch([await executable(), ...args], options)
}

/** Runs `axport ARGS` in the executable, for what only a process shows, and waits for its end. */
export async function runExecutable(args: string[], options: RunOptions = {}): Promise<Finished> {
  return await ended(await start(args, options), options)
}

/**
 * Runs `axport ARGS` and waits for its end. In a check most commands run in this process: an executable takes longer to
 * start than most of them to run. Those of test/system/ run in the executable.
 */
export async function axport(args: string[], options: RunOptions = {}): Promise<Finished> {
  const isOfSystem = Bun.main.includes('/test/system/')
  if (process.env.CHECK === undefined || isOfSystem || needsProcess(args, options))
    return await runExecutable(args, options)
  return withoutProgress(await runInProcess(args, options.env, options.cwd))
}

/** Whether a run serves, pulls, has input or a time limit, or what Bun reads when it starts. */
function needsProcess(args: string[], { env = {}, cwd: _, ...more }: RunOptions): boolean {
  if (['serve', 'demo'].includes(args.join(' ')) || args[0] === 'pull' || Object.keys(more).length > 0)
    return true
  return Object.keys(env).some(name => name.endsWith('_PROXY') || name === 'NODE_EXTRA_CA_CERTS')
}

/** Runs a line of shell in which $AXPORT is the executable. */
export async function shell(line: string, options: RunOptions = {}): Promise<Finished> {
  const env = { PATH: process.env.PATH ?? '/usr/bin:/bin', AXPORT: await executable(), ...options.env }
  return await ended(launch(['/bin/sh', '-c', line], { ...options, env }), options)
}

/** Waits for the end of a process, and kills a hanging one: a timed-out test would end the processes of all tests. */
export async function ended(running: Running, { timeoutMs = 90_000 }: RunOptions): Promise<Finished> {
  const timer = setTimeout(() => running.signal('SIGKILL'), timeoutMs)
  return withoutProgress(await running.finished.finally(() => clearTimeout(timer)))
}

const withoutProgress = (finished: Finished): Finished => ({
  ...finished,
  stderr: finished.stderr.replaceAll(PROGRESS, ''),
})

/** Progress lines, which a command prints only if a step takes seconds, as any step may on a busy machine. */
const PROGRESS =
  /^(waiting for the database|(reading|loading|rendering|pulling) .*\(|looked through|checking|building indexes|loaded, gathering statistics).*\n/gm

/** Starts any program. cleanUp() kills it if it still runs. */
export function launch(command: string[], { env = {}, cwd = emptyFolder(), stdin }: RunOptions): Running {
  const child = Bun.spawn(command, {
    cwd,
    env,
    stdin: stdin === undefined ? 'ignore' : stdin === 'open' ? 'pipe' : sourceOf(stdin),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  children.add(child)
  const stdout = new Collected(child.stdout)
  const stderr = new Collected(child.stderr)
  const pipe = child.stdin as Bun.FileSink
  const finished = (async () => {
    const [code] = await Promise.all([child.exited, stdout.ended, stderr.ended])
    children.delete(child)
    return { code, stdout: stdout.text, stderr: stderr.text }
  })()
  return {
    pid: child.pid,
    stdout: () => stdout.text,
    stderr: () => stderr.text,
    shows: pattern => stdout.shows(pattern, () => stderr.text),
    stdin: {
      write: text => quietly(async () => [await pipe.write(text), await pipe.flush()]),
      end: () => void quietly(() => pipe.end()),
    },
    signal: name => child.kill(name),
    exitCode: () => child.exitCode ?? undefined,
    finished,
  }
}

/** Ignores errors of writes to a process that has ended; its test checks the exit code. */
async function quietly(work: () => unknown): Promise<void> {
  await Promise.try(work).catch(() => {})
}

const sourceOf = (stdin: { text: string } | { file: string }) =>
  'text' in stdin ? new Blob([stdin.text]) : Bun.file(stdin.file)

/** Collects the text of a stream. */
class Collected {
  text = ''
  readonly ended: Promise<void>
  #isOver = false
  #wake = () => {}

  constructor(stream: ReadableStream<Uint8Array>) {
    this.ended = this.#collect(stream)
  }

  async #collect(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder()
    for await (const chunk of stream) {
      this.text += decoder.decode(chunk, { stream: true })
      this.#wake()
    }
    this.#isOver = true
    this.#wake()
  }

  async shows(pattern: RegExp, stderr: () => string): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.text)
      if (match) return match
      if (this.#isOver)
        throw new Error(`the process ended without printing ${pattern}: ${this.text}${stderr()}`)
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }
}

/** Starts `axport serve` on a free port and waits until it listens. */
export async function serve(env: Record<string, string>): Promise<Running & { url: string }> {
  const running = await start(['serve'], { env: { PORT: '0', ...env } })
  const [line = ''] = await running.shows(/^.*"listening".*\n/m)
  return { ...running, url: (JSON.parse(line) as { url: string }).url }
}

/** For afterAll: kills the processes that still run, and removes the folders. */
export async function cleanUp(): Promise<void> {
  for (const child of children) child.kill('SIGKILL')
  await Promise.all([...children].map(child => child.exited))
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  folders.clear()
}

/**
 * The error message of a failed command: its one line on standard error, without "axport: ". Throws if the exit code is
 * not `expected`, if standard output is not empty, or if standard error has more lines. After a wrong call (exit code
 * 2), one more line may name --help.
 */
export function errorLine({ code, stdout, stderr }: Finished, expected: 1 | 2): string {
  const all = JSON.stringify({ code, stdout, stderr })
  if (code !== expected || stdout !== '') throw new Error(`expected exit code ${expected}, but: ${all}`)
  const [, line] = /^axport: ([^\n]+)\n(?:\(.*--help.*\)\n)?$/.exec(stderr) ?? []
  if (line === undefined || (expected !== 2 && stderr.split('\n').length !== 2))
    throw new Error(`expected one line that begins with "axport: ", but: ${all}`)
  return line
}

/** The commands that a help text lists. */
export function commandsOf(help: string): string[] {
  const [, list = ''] = /^Commands:\n((?: {2}.*\n)+)/m.exec(help) ?? []
  return [...list.matchAll(/^ {2}(\w[\w-]*)/gm)].map(match => match[1] as string)
}
