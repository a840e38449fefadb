import { until } from '../../../support/until.ts'
import { Faults } from './faults.ts'

/** An answer, with the time of its request (milliseconds of performance.now()). */
interface Answer {
  at: number
  status: number
  body: string
}

/** Milliseconds between two probes. */
const INTERVAL_MS = 100

/**
 * Time limits of answers in milliseconds. /live asks no other program; /ready may wait for the database for a while. Other
 * tests use the same cores: on a host that slowed them down fivefold, a process did not run for two seconds.
 */
const TIMEOUT_MS = { '/live': 5000, '/ready': 8000 }

/** Probes the admin port all the time, as an orchestrator does. /live must always be 200. */
export class HealthProbe {
  readonly faults = new Faults()
  #last: Answer | undefined
  #isStopped = false
  readonly #running: Promise<void>[]

  constructor(
    private readonly url: string,
    private readonly secret: string,
  ) {
    this.#running = [this.#repeat(() => this.#probeLive()), this.#repeat(() => this.#probeReady())]
  }

  /** Waits until /ready answers 200 to a request that is sent from now on. Returns the time of that request. */
  async ready(): Promise<number> {
    return (await this.#until(({ status }) => status === 200)).at
  }

  /** Waits until /ready answers 503 because of the database. */
  async unready(): Promise<void> {
    await this.#until(({ status, body }) => status === 503 && wrongIn(body).includes('database'))
  }

  async #until(condition: (answer: Answer) => boolean): Promise<Answer> {
    const start = performance.now()
    const isMet = () => {
      if (this.#last && this.#last.at >= start && condition(this.#last)) return this.#last
      throw new Error(`/ready is ${JSON.stringify(this.#last)}`)
    }
    return await until('/ready has the expected status', isMet, 30_000)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#running)
  }

  async #repeat(probe: () => Promise<void>): Promise<void> {
    while (!this.#isStopped) {
      await probe()
      await Bun.sleep(INTERVAL_MS)
    }
  }

  async #probeLive(): Promise<void> {
    const answer = await this.#request('/live')
    if (answer && answer.status !== 200) this.faults.note(`/live was ${answer.status}: ${answer.body}`)
  }

  async #probeReady(): Promise<void> {
    const answer = await this.#request('/ready')
    if (!answer) return
    this.#last = answer
    const { status, body } = answer
    if (status !== 200 && status !== 503) this.faults.note(`/ready was ${status}: ${body}`)
    if (status === 503 && wrongIn(body).length === 0)
      this.faults.note(`/ready was 503 without a reason: "${body}"`)
    if (body.includes(this.secret)) this.faults.note('/ready shows the password of the database')
  }

  async #request(path: '/live' | '/ready'): Promise<Answer | undefined> {
    const at = performance.now()
    try {
      const response = await fetch(this.url + path, { signal: AbortSignal.timeout(TIMEOUT_MS[path]) })
      return { at, status: response.status, body: await response.text() }
    } catch (error) {
      this.faults.note(`no answer to ${path}: ${(error as { code?: string }).code ?? error}`)
      return undefined
    }
  }
}

/** The names of the wrong checks in the body of /ready that have a detail. */
function wrongIn(body: string): string[] {
  const { checks } = JSON.parse(body) as { checks: { check: string; status: string; detail?: string }[] }
  return checks.filter(({ status, detail }) => status === 'wrong' && detail).map(({ check }) => check)
}
