import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../test/support/free-port.ts'
import { bearer, type Credentials, LIST, newToken } from '../test/support/http.ts'
import { atExit } from './at-exit.ts'

/** A process of `axport serve`. */
export interface Service {
  url: string
  /** Milliseconds from the start of the process to the first answer. */
  startedIn: number
  /** The current and the peak memory of the process in MB; undefined without /proc. */
  memory(): { now: number; peak: number } | undefined
  /** Microseconds of processor time of the process so far; undefined without /proc. */
  cpu(): number | undefined
  stop(): Promise<void>
}

/** Starts the executable with further settings. The log goes to a file, as on a server. */
export async function startService(
  executable: string,
  databaseUrl: string,
  settings: Record<string, string> = {},
): Promise<Service> {
  const folder = mkdtempSync(join(tmpdir(), 'axport-bench-service-'))
  const errors = join(folder, 'errors')
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const started = performance.now()
  const child = Bun.spawn([executable, 'serve'], {
    cwd: folder,
    env: { ...settings, DATABASE_URL: databaseUrl, PORT: String(port) },
    stdio: ['ignore', Bun.file(join(folder, 'log')), Bun.file(errors)],
  })
  const removeFolder = () => rmSync(folder, { recursive: true, force: true })
  const ended = atExit(() => {
    child.kill()
    removeFolder()
  })
  const stop = async () => {
    child.kill()
    await child.exited
    removeFolder()
    ended()
  }
  while (!(await isAnswering(url))) {
    if (child.exitCode !== null || performance.now() - started > 30_000) {
      const message = readFileSync(errors, 'utf8').trim()
      await stop()
      throw new Error(`the service did not start: ${message}`)
    }
    await Bun.sleep(2)
  }
  const startedIn = performance.now() - started
  return { url, startedIn, memory: () => memoryOf(child.pid), cpu: () => cpuOf(child.pid), stop }
}

/** Whether the service answers. A 401 for a request without a token is an answer. */
const isAnswering = (url: string) =>
  fetch(url + LIST).then(
    () => true,
    () => false,
  )

/** Microseconds of a tick: Linux counts processor time in hundredths of a second (USER_HZ). */
const TICK = 10_000

function cpuOf(pid: number): number | undefined {
  const stat = ofProcess(pid, 'stat')
  // The name of the program, in parentheses, may contain spaces. Field 14 is user time, field 15 is system time.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields && (Number(fields[11]) + Number(fields[12])) * TICK
}

/** Microseconds of processor time of a process and its children, including ended children. */
export function familyCpuOf(pid: number): number | undefined {
  if (ofProcess(pid, 'stat') === undefined) return undefined
  const children = ofProcess(pid, `task/${pid}/children`)?.trim().split(' ') ?? []
  return [pid, ...children.filter(Boolean).map(Number)].reduce((sum, one) => {
    const stat = ofProcess(one, 'stat')
    // Fields 14 to 17 are the time of the process, and the time of its ended children.
    const [, , , , , , , , , , , ...times] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? []
    return sum + times.slice(0, 4).reduce((time, ticks) => time + Number(ticks), 0) * TICK
  }, 0)
}

function memoryOf(pid: number): { now: number; peak: number } | undefined {
  const status = ofProcess(pid, 'status')
  const megabytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status ?? '')?.[1]) / 1024
  return status === undefined ? undefined : { now: megabytes('VmRSS'), peak: megabytes('VmHWM') }
}

export const NO_PROC = 'not measured: there is no /proc here'

/** The text of a file in the process's folder of /proc; undefined on systems other than Linux. */
function ofProcess(pid: number, name: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return undefined
  }
}

export const FIRST_PAGE = `${LIST}?page=100`

/** The headers of a client that has a token. */
export async function authorize(url: string, credentials: Credentials): Promise<{ authorization: string }> {
  return bearer(await newToken(url, credentials))
}
