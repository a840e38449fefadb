import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Credentials } from '../support/walk.ts'
import { atExit } from './at-exit.ts'

/** `axport serve` in a process of its own. */
export interface Service {
  url: string
  /** Spawning to first answer, in milliseconds. */
  startedIn: number
  /** Memory of the process in MB: now, and at most so far. Undefined where there is no /proc. */
  memory(): { now: number; peak: number } | undefined
  /** Microseconds of processor time of the process so far. Undefined where there is no /proc. */
  cpu(): number | undefined
  stop(): Promise<void>
}

export interface ServiceOptions {
  /** Default: a free one, which its log tells. */
  port?: number
  /** Of `axport serve`. */
  args?: string[]
}

const LISTENING = /"url":"(http:[^"]+)"[^\n]*"listening"/

/** Starts the executable; its log goes to a file, as on a server. */
export async function startService(
  executable: string,
  databaseUrl: string,
  { port = 0, args = [] }: ServiceOptions = {},
): Promise<Service> {
  const folder = mkdtempSync(join(tmpdir(), 'axport-bench-service-'))
  const log = join(folder, 'log')
  const errors = join(folder, 'errors')
  const started = performance.now()
  const child = Bun.spawn([executable, 'serve', ...args], {
    cwd: folder,
    env: { DATABASE_URL: databaseUrl, PORT: String(port) },
    stdio: ['ignore', Bun.file(log), Bun.file(errors)],
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
  let url = port === 0 ? undefined : `http://127.0.0.1:${port}`
  for (;;) {
    url ??= LISTENING.exec(readFileSync(log, 'utf8'))?.[1]
    // Without a token the first answer is a 401, which is an answer.
    if (url && (await fetch(url + LIST).catch(() => undefined))) break
    if (child.exitCode !== null || performance.now() - started > 30_000) {
      const complaint = readFileSync(errors, 'utf8').trim()
      await stop()
      throw new Error(`the service does not start: ${complaint}`)
    }
    await Bun.sleep(2)
  }
  const startedIn = performance.now() - started
  return { url, startedIn, memory: () => memoryOf(child.pid), cpu: () => cpuOf(child.pid), stop }
}

/** Linux counts in hundredths of a second (USER_HZ), whatever its clock. */
const TICK = 10_000

function cpuOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program, in parentheses, may hold spaces. User time is field 14, system time 15.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) * TICK
  } catch {
    // Another system than Linux.
    return undefined
  }
}

function memoryOf(pid: number): { now: number; peak: number } | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const megabytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024
    return { now: megabytes('VmRSS'), peak: megabytes('VmHWM') }
  } catch {
    // Another system than Linux.
    return undefined
  }
}

export const LIST = '/api/v1/ax/assessments'
export const TOKEN = '/oauth/token'

export const FIRST_PAGE = `${LIST}?page=100`

/** Headers and body with which a client asks for a token. */
export function tokenRequest({ client_id, client_secret }: Credentials) {
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret }).toString()
  return { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body }
}

/** The headers of a client that has a token. */
export async function authorize(url: string, credentials: Credentials): Promise<{ authorization: string }> {
  const answer = await fetch(`${url}${TOKEN}`, { method: 'POST', ...tokenRequest(credentials) })
  if (!answer.ok) throw new Error(`no token: HTTP ${answer.status}`)
  const { access_token } = (await answer.json()) as { access_token: string }
  return { authorization: `Bearer ${access_token}` }
}
