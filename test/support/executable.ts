import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { madeOnce } from './made-once.ts'

/** Milliseconds for a test: one that times out takes the child processes of all others with it. */
export const PATIENCE = 300_000

/** How a run of the executable ended. */
interface Finished {
  code: number
  stdout: string
  stderr: string
}

/** A run of the executable that goes on. */
export interface Running {
  pid: number
  /** Everything on standard output so far. */
  stdout(): string
  stderr(): string
  /** Resolves as soon as standard output matches; rejects when the process ends before. */
  shows(pattern: RegExp): Promise<RegExpExecArray>
  /** Standard input, where it was asked for; a write resolves when it is in the pipe. */
  stdin: { write(text: string): Promise<void>; end(): void }
  signal(name: 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGKILL'): void
  /** undefined as long as it runs. */
  exitCode(): number | undefined
  /** Code, and all output. */
  finished: Promise<Finished>
}

interface RunOptions {
  /** The whole environment: nothing is passed on. */
  env?: Record<string, string>
  /** Default: an empty folder. */
  cwd?: string
  /** A file's path, text, or "open" for a pipe that the test writes to; nothing by default. */
  stdin?: { text: string } | { file: string } | 'open'
  /** Milliseconds after which a run that does not end by itself is killed: exit code 137. */
  patience?: number
}

const children = new Set<Bun.Subprocess>()
const folders = new Set<string>()

/** The executable at AXPORT_EXECUTABLE, or one that is built now, once for all tests of a run. */
export function executable(): Promise<string> {
  const { AXPORT_EXECUTABLE: given } = process.env
  return given ? Promise.resolve(given) : madeOnce('axport', build)
}

async function build(outfile: string): Promise<void> {
  const script = join(import.meta.dir, '..', '..', 'scripts', 'build.ts')
  const run = Bun.spawn([process.execPath, script, '--outfile', outfile], {
    stdout: 'ignore',
    stderr: 'pipe',
  })
  const complaint = await new Response(run.stderr).text()
  if ((await run.exited) !== 0) throw new Error(`the executable cannot be built: ${complaint}`)
}

/** A new folder with nothing in it. */
export function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'axport-run-'))
  folders.add(folder)
  return folder
}

/** Starts `axport ARGS` where nothing of this checkout is near. */
export async function start(args: string[], options: RunOptions = {}): Promise<Running> {
  return launch([await executable(), ...args], options)
}

/** Runs `axport ARGS` to its end. */
export async function axport(args: string[], options: RunOptions = {}): Promise<Finished> {
  return await ended(await start(args, options), options)
}

/** Runs a line of shell in which $AXPORT is the executable. */
export async function shell(line: string, options: RunOptions = {}): Promise<Finished> {
  const env = { PATH: process.env.PATH ?? '/usr/bin:/bin', AXPORT: await executable(), ...options.env }
  return await ended(launch(['/bin/sh', '-c', line], { ...options, env }), options)
}

/** A run that hangs is a failure of its test alone, not a time-out that takes everything with it. */
export async function ended(running: Running, { patience = 90_000 }: RunOptions): Promise<Finished> {
  const timer = setTimeout(() => running.signal('SIGKILL'), patience)
  const finished = await running.finished.finally(() => clearTimeout(timer))
  return { ...finished, stderr: finished.stderr.replaceAll(PROGRESS, '') }
}

/** Said of anything that takes seconds, as everything may on a busy machine. */
const PROGRESS =
  /^(waiting for the database, which is busy|(reading|loading|rendering) .*\(|looked through|checking|building indexes|loaded, gathering statistics).*\n/gm

/** Starts a program that need not be the executable; cleanUp ends it, too. */
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

/** A process that has ended takes nothing any more; how it ended is what its test looks at. */
async function quietly(work: () => unknown): Promise<void> {
  await Promise.try(work).catch(() => {})
}

const sourceOf = (stdin: { text: string } | { file: string }) =>
  'text' in stdin ? new Blob([stdin.text]) : Bun.file(stdin.file)

/** The text of a stream as it comes. */
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

  async shows(pattern: RegExp, complaint: () => string): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.text)
      if (match) return match
      if (this.#isOver) throw new Error(`it ended without ${pattern}: ${this.text}${complaint()}`)
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

/** For afterAll: ends what still runs and removes the folders. */
export async function cleanUp(): Promise<void> {
  for (const child of children) child.kill('SIGKILL')
  await Promise.all([...children].map(child => child.exited))
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  folders.clear()
}

/**
 * What a command that failed has to say: the one line on standard error, without "axport: ". Throws for
 * anything else than exit code `code`, nothing on standard output, and that one line; a wrong call may be
 * followed by the line that names --help.
 */
export function complaint({ code, stdout, stderr }: Finished, expected: 1 | 2 | 75): string {
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
