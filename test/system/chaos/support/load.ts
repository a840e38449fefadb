import { type Credentials, LIST } from '../../../support/http.ts'
import { randomBelow } from '../../../support/tier.ts'
import { type Answer, faultOf, type Kind } from './answer.ts'
import { Client } from './client.ts'
import { Faults } from './faults.ts'
import { PAGE, type Truth } from './truth.ts'

/** A truth and the time for which it held (milliseconds of performance.now()). */
interface Period {
  truth: Truth
  from: number
  until: number
}

/** The pause between two requests of one client: the load is constant, and below what the machine can do. */
const PAUSE_MS = 20

/** What a load accepts in addition to right answers and documented errors. */
export interface Tolerance {
  /** Tokens may become invalid, because their database was replaced. */
  lostTokens?: boolean
  /** The longest allowed time of an answer, in milliseconds. */
  longest?: number
}

/** Constant load by several well-behaved clients. Every answer is checked. */
export class Load {
  readonly faults = new Faults()
  /** Answers by kind and status, as "list 200". */
  readonly seen = new Map<string, number>()
  /** The number of complete walks. */
  walks = 0
  /** The longest time of an answer, in milliseconds. */
  slowest = 0
  readonly #clients: Client[] = []
  readonly #running: Promise<void>[] = []
  /** The truths with their periods. Periods overlap while the data change. */
  readonly #periods: Period[]
  #isStopped = false

  constructor(
    private readonly url: string,
    private readonly credentials: Credentials,
    truth: Truth,
    private readonly tolerance: Tolerance = {},
  ) {
    this.#periods = [{ truth, from: 0, until: Number.POSITIVE_INFINITY }]
  }

  /**
   * Gets a token for each client, then starts them: `walkers` clients that walk, one that sends other list and retrieve
   * requests, one for tokens.
   */
  async start(walkers: number): Promise<void> {
    const works: ((client: Client) => Promise<unknown>)[] = [
      ...Array.from({ length: walkers }, () => (client: Client) => this.#walk(client)),
      client => this.#requestOthers(client),
      client => client.requestToken(),
    ]
    const clients = works.map(work => ({ work, client: this.client() }))
    await Promise.all(clients.map(({ client }) => client.requestToken()))
    this.#running.push(...clients.map(({ work, client }) => this.#repeat(() => work(client))))
  }

  /** Makes a further client, whose answers are checked like all others. */
  client(): Client {
    const client = new Client(this.url, this.credentials, this)
    this.#clients.push(client)
    return client
  }

  /**
   * Accepts answers of another truth from now on. Answers of the former one are accepted until the returned function is
   * called.
   */
  change(truth: Truth): () => void {
    const before = this.#now
    this.#periods.push({ truth, from: performance.now(), until: Number.POSITIVE_INFINITY })
    return () => {
      before.until = performance.now()
    }
  }

  /** The id of an existing record. */
  get someId(): number {
    const { ids } = this.#now.truth
    return ids[randomBelow(ids.length)] as number
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    for (const client of this.#clients) client.stop()
    await Promise.all(this.#running)
  }

  /** The counts of answers, for the message of a failed test. */
  summary(): string {
    return JSON.stringify({
      ...Object.fromEntries(this.seen),
      walks: this.walks,
      slowest: Math.round(this.slowest),
    })
  }

  count(kind: Kind, status: number): number {
    return this.seen.get(`${kind} ${status}`) ?? 0
  }

  answered(answer: Answer): void {
    const { kind, path, status, text, sentAt, receivedAt } = answer
    const what = `${kind} ${status}`
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1)
    this.slowest = Math.max(this.slowest, receivedAt - sentAt)
    if (receivedAt - sentAt > (this.tolerance.longest ?? Number.POSITIVE_INFINITY))
      this.faults.note(`${what} took longer than ${this.tolerance.longest} ms`)
    if (status === 200) {
      const isRight =
        kind === 'token' ? isToken(text) : this.#truths(answer).some(truth => truth.accepts(path, text))
      if (!isRight) this.faults.note(`a wrong answer to ${path}: ${text.slice(0, 60)} … ${text.slice(-60)}`)
    } else if (!this.#isTrue(answer)) {
      const fault = faultOf(answer)
      if (fault) this.faults.note(fault)
    }
  }

  /** Whether an error is right: a 401 for a token that was lost, or a 404 for a record that does not exist. */
  #isTrue(answer: Answer): boolean {
    const { kind, path, status } = answer
    if (status === 401) return kind !== 'token' && this.tolerance.lostTokens === true
    const id = Number(path.slice(LIST.length + 1))
    return status === 404 && kind === 'retrieve' && this.#truths(answer).some(truth => !truth.has(id))
  }

  failed(kind: Kind, path: string, failure: string): void {
    this.faults.note(`no answer to ${kind} ${path.split('?')[0]}: ${failure}`)
  }

  async #repeat(work: () => Promise<unknown>): Promise<void> {
    while (!this.#isStopped) {
      await work()
      await Bun.sleep(PAUSE_MS)
    }
  }

  /** Reads page after page until offset reaches meta.count (contract L7). Every record must come once and in order. */
  async #walk(client: Client): Promise<void> {
    const sentAt = performance.now()
    const ids: number[] = []
    let count = Number.POSITIVE_INFINITY
    for (let offset = 0; offset < count; offset += PAGE) {
      const answer = await client.get(`${LIST}?page=${PAGE}&offset=${offset}`)
      if (!answer) return
      const body = JSON.parse(answer.text) as { data: { id: number }[]; meta: { count: number } }
      ids.push(...body.data.map(({ id }) => id))
      count = body.meta.count
      await Bun.sleep(PAUSE_MS)
    }
    const [truth, ...others] = this.#truths({ sentAt, receivedAt: performance.now() })
    // A walk during a change of the data cannot be checked as a whole; its pages were checked one by one.
    if (!truth || others.length > 0) return
    const found = ids.slice(0, truth.ids.length)
    if (found.join() !== truth.ids.join() || new Set(ids).size !== ids.length)
      this.faults.note(
        `a walk found ${new Set(ids).size} ids in ${ids.length} records, not ${truth.ids.length}`,
      )
    this.walks++
  }

  /** Requests first pages with a filter or an order, and single records. */
  async #requestOthers(client: Client): Promise<void> {
    for (const query of [...this.#now.truth.queries, undefined]) {
      if (this.#isStopped) return
      if (query !== undefined) await client.get(`${LIST}?${query}`)
      await client.get(`${LIST}/${this.someId}`)
      await Bun.sleep(PAUSE_MS)
    }
  }

  get #now(): Period {
    return this.#periods.at(-1) as Period
  }

  /** The truths that held at any time between a request and its answer. */
  #truths({ sentAt, receivedAt }: { sentAt: number; receivedAt: number }): Truth[] {
    return this.#periods
      .filter(({ from, until }) => from <= receivedAt && until >= sentAt)
      .map(({ truth }) => truth)
  }
}

function isToken(text: string): boolean {
  return /^\{"access_token":"[A-Za-z0-9]{43}","token_type":"Bearer","expires_in":7200,"created_at":\d+\}$/.test(
    text,
  )
}
