import { readFileSync } from 'node:fs'
import { emptyFolder, launch } from '../support/executable.ts'
import { freePort } from '../support/free-port.ts'
import { LIST } from '../support/http.ts'

/** A process of `axport serve`. */
export interface Service {
  url: string
  /** Milliseconds from its start to its first answer. */
  startMs: number
  /** Microseconds of processor time so far; undefined without /proc. */
  processorTime(): number | undefined
  /** The peak memory in MB; undefined without /proc. */
  peakMemory(): number | undefined
  stop(): Promise<void>
}

/** Starts an executable, and waits until it answers. The log goes to a file, as on a server. */
export async function startService(executable: string, databaseUrl: string): Promise<Service> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const startedAt = performance.now()
  const running = launch(['/bin/sh', '-c', 'exec "$0" serve >log', executable], {
    cwd: emptyFolder(),
    env: { DATABASE_URL: databaseUrl, PORT: String(port) },
  })
  while (!(await isAnswering(url))) {
    if (running.exitCode() !== undefined) throw new Error(`the service did not start: ${running.stderr()}`)
    await Bun.sleep(5)
  }
  return {
    url,
    startMs: performance.now() - startedAt,
    processorTime: () => processorTimeOf(running.pid),
    peakMemory: () => peakMemoryOf(running.pid),
    stop: async () => {
      running.signal('SIGTERM')
      await running.finished
    },
  }
}

/** Whether the service answers. A 401 for a request without a token is an answer. */
const isAnswering = (url: string) =>
  fetch(url + LIST).then(
    () => true,
    () => false,
  )

/** Microseconds of a tick: Linux counts processor time in hundredths of a second (USER_HZ). */
const TICK = 10_000

function processorTimeOf(pid: number): number | undefined {
  const stat = ofProcess(pid, 'stat')
  // The name of the program, in parentheses, may contain spaces. Field 14 is user time, field 15 is system time.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields && (Number(fields[11]) + Number(fields[12])) * TICK
}

function peakMemoryOf(pid: number): number | undefined {
  const kilobytes = /VmHWM:\s+(\d+)/.exec(ofProcess(pid, 'status') ?? '')?.[1]
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1024
}

/** The text of a file in the process's folder of /proc; undefined on systems other than Linux. */
function ofProcess(pid: number, name: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return undefined
  }
}
