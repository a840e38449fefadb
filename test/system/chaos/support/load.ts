import { type Credentials, LIST } from '../../../support/http.ts'
import { randomBelow } from '../../../support/tier.ts'
import { type Answer, faultOf, type Kind } from './answer.ts'
import { Client } from './client.ts'
import { Faults } from './faults.ts'
import { PAGE, type Truth } from './truth.ts'

/** A truth and when it held (milliseconds of performance.now()). */
interface Period {
  truth: Truth
  from: number
  until: number
}

/** Between two requests of one client: constant load, and not all that the machine can do. */
const PAUSE_MS = 10

/** What a load may meet beside right answers and the documented refusals. */
export interface Tolerance {
  /** Tokens may end, as when the database that knew them is gone. */
  lostTokens?: boolean
  /** Milliseconds that any answer may take. */
  longest?: number
}

/** Constant load by several good clients, every single answer of which is looked at. */
export class Load {
  readonly faults = new Faults()
  /** Answers by kind and status, as "list 200". */
  readonly seen = new Map<string, number>()
  /** Full walks that came to their end. */
  walks = 0
  /** The longest time that an answer took, milliseconds. */
  slowest = 0
  readonly #clients: Client[] = []
  readonly #running: Promise<void>[] = []
  /** What was true when. They overlap while the data change. */
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

  /** Starts the clients: `walkers` that read page after page, one that asks other questions, one for tokens. */
  start(walkers: number): void {
    const run = (work: (client: Client) => Promise<void>) => {
      const client = this.client()
      this.#running.push(this.#repeat(() => work(client)))
    }
    for (let n = 0; n < walkers; n++) run(client => this.#walk(client))
    run(client => this.#askAround(client))
    run(async client => void (await client.askToken()))
  }

  /** Another client whose answers are looked at as all others are. */
  client(): Client {
    const client = new Client(this.url, this.credentials, this)
    this.#clients.push(client)
    return client
  }

  /** Another truth may be answered from now on; the one before, until the returned function is called. */
  change(truth: Truth): () => void {
    const before = this.#now
    this.#periods.push({ truth, from: performance.now(), until: Number.POSITIVE_INFINITY })
    return () => {
      before.until = performance.now()
    }
  }

  /** The id of a record that is there. */
  get someId(): number {
    const { ids } = this.#now.truth
    return ids[randomBelow(ids.length)] as number
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    for (const client of this.#clients) client.stop()
    await Promise.all(this.#running)
  }

  /** What was answered so far, for the failure of a test. */
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
    const { kind, path, status, text, asked, had } = answer
    const what = `${kind} ${status}`
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1)
    this.slowest = Math.max(this.slowest, had - asked)
    if (had - asked > (this.tolerance.longest ?? Number.POSITIVE_INFINITY))
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

  /** A refusal that says how things are: the token is gone, or the record is. */
  #isTrue(answer: Answer): boolean {
    const { kind, path, status } = answer
    if (status === 401) return kind !== 'token' && this.tolerance.lostTokens === true
    const id = Number(path.slice(LIST.length + 1))
    return status === 404 && kind === 'retrieve' && this.#truths(answer).some(truth => !truth.has(id))
  }

  failed(kind: Kind, path: string, failure: string): void {
    this.faults.note(`no answer to ${kind} ${path.split('?')[0]}: ${failure}`)
  }

  async #repeat(work: () => Promise<void>): Promise<void> {
    while (!this.#isStopped) {
      await work()
      await Bun.sleep(PAUSE_MS)
    }
  }

  /** Page after page until offset reaches meta.count (spec 4.2); each record once, in its order. */
  async #walk(client: Client): Promise<void> {
    const asked = performance.now()
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
    const [truth, ...others] = this.#truths({ asked, had: performance.now() })
    // A walk across a change of the data proves nothing; its pages were looked at one by one.
    if (!truth || others.length > 0) return
    const found = ids.slice(0, truth.ids.length)
    if (found.join() !== truth.ids.join() || new Set(ids).size !== ids.length)
      this.faults.note(
        `a walk found ${new Set(ids).size} ids in ${ids.length} records, not ${truth.ids.length}`,
      )
    this.walks++
  }

  /** First pages with a filter or an order, and single records. */
  async #askAround(client: Client): Promise<void> {
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

  /** What was true at some time between a question and its answer. */
  #truths({ asked, had }: { asked: number; had: number }): Truth[] {
    return this.#periods.filter(({ from, until }) => from <= had && until >= asked).map(({ truth }) => truth)
  }
}

function isToken(text: string): boolean {
  return /^\{"access_token":"[A-Za-z0-9]{43}","token_type":"Bearer","expires_in":7200,"created_at":\d+\}$/.test(
    text,
  )
}
