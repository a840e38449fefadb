import type { Readiness } from '../admin/readiness.ts'
import { urlOf } from '../app/address.ts'
import { setting } from '../config.ts'
import { Failure } from '../errors.ts'
import { newCommand, readDuration, wholeNumber } from './arguments.ts'
import { print } from './output.ts'

/** Longer than all checks of /ready take together: at most two seconds each. */
const ANSWER_TIMEOUT_MS = 15_000

/** Between two questions of --wait. */
const INTERVAL_MS = 200

/** axport health */
export const healthCommand = () =>
  newCommand(
    'health',
    'Ask the service whether it is ready.',
    `Asks /ready on the ADMIN_HOST and ADMIN_PORT of its own environment, which has to be that of the
service, as in its container or its unit of systemd.

Examples: ADMIN_PORT=3001 axport health
          podman exec axport axport health`,
  )
    .option('--wait <duration>', 'ask again until it is ready, for so long at most', readDuration)
    .option('--process <pid>', 'stop waiting when this process has ended', wholeNumber(1, 2 ** 31))
    .option('--json', 'print the answer of /ready')
    .action(async ({ wait = 0, process: pid, json }) => {
      const url = readyUrl()
      const end = performance.now() + wait * 1000
      const restMs = () => end - performance.now()
      // A service that does not answer takes none of the time past the end of --wait.
      const askInTime = () => ask(url, wait > 0 ? Math.min(ANSWER_TIMEOUT_MS, restMs()) : ANSWER_TIMEOUT_MS)
      let found = await askInTime()
      while (!found.ready && restMs() > INTERVAL_MS && !(pid && hasEnded(pid))) {
        await Bun.sleep(INTERVAL_MS)
        found = await askInTime()
      }
      if (json && found.answer) await print(`${JSON.stringify(found.answer)}\n`)
      if (!found.ready) throw new Failure(`not ready: ${found.why}`)
      if (!json) await print('ready\n')
    })

/** By signal 0, which is not sent: /proc hides the other processes of a unit. */
function hasEnded(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return (error as { code?: string }).code !== 'EPERM'
  }
}

function readyUrl(): string {
  const port = setting('ADMIN_PORT')
  if (!port)
    throw new Failure('ADMIN_PORT is not set: set it as it is set for the service, as ADMIN_PORT=3001')
  const host = setting('ADMIN_HOST')
  // An address for listening everywhere is none to connect to.
  const reachable = { '0.0.0.0': '127.0.0.1', '*': '127.0.0.1', '::': '::1', '[::]': '::1' }[host] ?? host
  return `${urlOf({ host: reachable, port })}/ready`
}

type Found = { ready: true; answer: Readiness } | { ready: false; answer?: Readiness; why: string }

async function ask(url: string, timeoutMs: number): Promise<Found> {
  let answer: Readiness
  try {
    // The service is on this machine: no proxy of the environment leads there.
    const response = await fetch(url, { proxy: false, signal: AbortSignal.timeout(Math.max(1, timeoutMs)) })
    answer = (await response.json()) as Readiness
    if (!Array.isArray(answer.checks)) throw new Error('no checks')
  } catch (error) {
    const { name, code } = error as { name: string; code?: string }
    if (name === 'TimeoutError') return { ready: false, why: `${url} does not answer` }
    if (/^(ECONNREFUSED|ConnectionRefused)$/.test(code ?? ''))
      return { ready: false, why: `nothing listens at ${url}` }
    return { ready: false, why: `${url} does not answer as axport does` }
  }
  if (answer.ready) return { ready: true, answer }
  const wrong = answer.checks.filter(({ status }) => status === 'wrong')
  return { ready: false, answer, why: wrong.map(({ check, detail }) => `${check}: ${detail}`).join('; ') }
}
