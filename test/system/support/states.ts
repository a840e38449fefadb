import postgres from 'postgres'
import { ORGANIZATION, PRODUCT } from '../../support/fixtures.ts'
import { tryList } from '../../support/http.ts'
import type { OwnCluster } from '../../support/own-cluster.ts'
import { RECORDS } from './replicated.ts'

/** Between two writes. */
const PAUSE_MS = 200

/** The records of a page: three pages are read, of all records and of legacy records. */
const PAGE = 15

/** The records that count differently in each state. */
const STATES = 7

const numberIn = (text: string) => Number(/\d+$/.exec(text)?.[0])

/**
 * Writes one state after the other, each in one transaction: the number of the state is in the names of the product and of
 * the organization, and decides how many records are legacy records.
 */
export class Writer {
  /** When each state was committed, by performance.now(). A state ends with the next one. */
  readonly committed: number[] = []
  readonly #sql: postgres.Sql
  readonly #running: Promise<void>
  #isOver = false

  constructor(primary: OwnCluster) {
    this.#sql = postgres(primary.url(), { max: 1, onnotice: () => {} })
    this.#running = this.#write()
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#running
    await this.#sql.end()
  }

  async #write(): Promise<void> {
    for (let state = 0; !this.#isOver; state++) {
      await this.#sql.begin(async sql => {
        await sql`update products set name = ${`State ${state}`} where id = ${PRODUCT}`
        await sql`
          update assessments set legacy_record = not legacy_record
          where legacy_record <> (id % ${RECORDS} < ${legacyIn(state)})`
        await sql`update organizations set name = ${`State ${state}`} where id = ${ORGANIZATION}`
      })
      this.committed[state] = performance.now()
      await Bun.sleep(PAUSE_MS)
    }
  }
}

/** More than two pages, so that each of three pages has several records, which could be of two states. */
const legacyIn = (state: number) => 2 * PAGE + 5 + (state % STATES)

/** What clients have seen. */
export interface Seen {
  pages: number
  /** The oldest state of a page, in milliseconds since its end. */
  oldest: number
  /** The longest time of a request. */
  slowest: number
  faults: Set<string>
}

/** Clients that ask for pages over and over, and check that each is one state that the primary has had. */
export class Readers {
  seen: Seen = fresh()
  readonly #running: Promise<void>[]
  #isOver = false

  constructor(
    private readonly url: string,
    private readonly token: string,
    private readonly writer: Writer,
    count = 4,
  ) {
    this.#running = Array.from({ length: count }, (_, at) => this.#read(at))
  }

  /** What was seen since the last call. */
  take(): Seen {
    const { seen } = this
    this.seen = fresh()
    return seen
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#running)
  }

  async #read(at: number): Promise<void> {
    for (let page = at; !this.#isOver; page++) {
      const isLegacy = page % 2 === 0
      const query = `page=${PAGE}&offset=${(page % 3) * PAGE}${isLegacy ? '&filter[legacy_record][]=true' : ''}`
      const sentAt = performance.now()
      const { status, body } = await tryList(this.url, this.token, query)
      this.seen.pages++
      this.seen.slowest = Math.max(this.seen.slowest, performance.now() - sentAt)
      if (status === 200) this.#judge(body as Page, isLegacy, sentAt)
      else this.seen.faults.add(`status ${status}`)
      await Bun.sleep(100)
    }
  }

  #judge({ data, meta }: Page, isLegacy: boolean, sentAt: number): void {
    const { seen, writer } = this
    const states = new Set(data.flatMap(row => [row.assessment_name, row.organization_name]).map(numberIn))
    const [state = Number.NaN] = states
    if (states.size !== 1) seen.faults.add(`a page of the states ${[...states]}`)
    const count = isLegacy ? legacyIn(state) : RECORDS
    if (meta.count !== count) seen.faults.add(`a count of ${meta.count} instead of ${count}`)
    const endedAt = writer.committed[state + 1]
    if (endedAt !== undefined) seen.oldest = Math.max(seen.oldest, sentAt - endedAt)
  }
}

interface Page {
  data: { assessment_name: string; organization_name: string }[]
  meta: { count: number }
}

const fresh = (): Seen => ({ pages: 0, oldest: 0, slowest: 0, faults: new Set() })
