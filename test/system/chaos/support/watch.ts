import { until } from '../../../support/until.ts'
import { Faults } from './faults.ts'

/** What /ready said at a moment (milliseconds of performance.now()). */
interface Reading {
  at: number
  status: number
  body: string
}

/** Milliseconds between two looks. */
const INTERVAL_MS = 100

/** Milliseconds for an answer: /live asks nobody; /ready may wait for the database, but not for ever. */
const PATIENCE_MS = { '/live': 2000, '/ready': 5000 }

/** Asks the admin port all the time, as an orchestrator does: /live must be 200 always. */
export class Watch {
  readonly faults = new Faults()
  #last: Reading | undefined
  #isStopped = false
  readonly #running: Promise<void>[]

  constructor(
    private readonly url: string,
    private readonly secret: string,
  ) {
    this.#running = [this.#repeat(() => this.#lookLive()), this.#repeat(() => this.#lookReady())]
  }

  /** Waits until /ready answers 200 to a question that is asked from now on; when it was asked. */
  async ready(): Promise<number> {
    return (await this.#until(({ status }) => status === 200)).at
  }

  /** Waits until /ready answers 503 because of the database. */
  async unready(): Promise<void> {
    await this.#until(({ status, body }) => status === 503 && wrongIn(body).includes('database'))
  }

  async #until(condition: (reading: Reading) => boolean): Promise<Reading> {
    const start = performance.now()
    const isMet = () => {
      if (this.#last && this.#last.at >= start && condition(this.#last)) return this.#last
      throw new Error(`/ready is ${JSON.stringify(this.#last)}`)
    }
    return await until('/ready says so', isMet, 30_000)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#running)
  }

  async #repeat(look: () => Promise<void>): Promise<void> {
    while (!this.#isStopped) {
      await look()
      await Bun.sleep(INTERVAL_MS)
    }
  }

  async #lookLive(): Promise<void> {
    const answer = await this.#ask('/live')
    if (answer && answer.status !== 200) this.faults.note(`/live was ${answer.status}: ${answer.body}`)
  }

  async #lookReady(): Promise<void> {
    const answer = await this.#ask('/ready')
    if (!answer) return
    this.#last = answer
    const { status, body } = answer
    if (status !== 200 && status !== 503) this.faults.note(`/ready was ${status}: ${body}`)
    if (status === 503 && wrongIn(body).length === 0)
      this.faults.note(`/ready was 503 without a reason: "${body}"`)
    if (body.includes(this.secret)) this.faults.note('/ready shows the password of the database')
  }

  async #ask(path: '/live' | '/ready'): Promise<Reading | undefined> {
    const at = performance.now()
    try {
      const response = await fetch(this.url + path, { signal: AbortSignal.timeout(PATIENCE_MS[path]) })
      return { at, status: response.status, body: await response.text() }
    } catch (error) {
      this.faults.note(`no answer to ${path}: ${(error as { code?: string }).code ?? error}`)
      return undefined
    }
  }
}

/** The checks that the body of /ready says are wrong, and why. */
function wrongIn(body: string): string[] {
  const { checks } = JSON.parse(body) as { checks: { check: string; status: string; detail?: string }[] }
  return checks.filter(({ status, detail }) => status === 'wrong' && detail).map(({ check }) => check)
}
