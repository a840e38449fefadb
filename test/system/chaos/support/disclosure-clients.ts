import type { Recorded } from '../../../support/disclosures.ts'
import { bearer, LIST } from '../../../support/http.ts'
import { randomBelow } from '../../../support/tier.ts'

/** The outcome of a request: the ids of the received records, an answer without records, a 5xx, or a broken answer. */
type Outcome = { ids: string[] } | 'without records' | 'refused' | 'broken'

/** Milliseconds between two requests of a client. */
const PAUSE_MS = 8

const QUERIES = [
  ...['', '?page=100', '?page=7&offset=13', '?offset=100000', '?sort=user_name&order=DESC&page=20'],
  ...['?filter[search]=given', '?filter[user_ids][]=101&filter[user_ids][]=4000000000', '?page=none'],
  ...['?filter[legacy_record][]=true', '?filter[start_date]=2026-01-01&page=3', '/1001', '/1005', '/7'],
]

/**
 * Clients that send random requests to random servers, sometimes disconnect early, and note the outcome of each request
 * by its id.
 */
export class DisclosureClients {
  /** The outcomes by request id. */
  readonly outcomes = new Map<string, Outcome>()
  /** The base URLs of the servers; a test removes those that it has killed. */
  urls: string[] = []
  received = 0
  #isStopped = false
  readonly #running: Promise<void>[]

  constructor(
    private readonly token: string,
    clients: number,
  ) {
    this.#running = Array.from({ length: clients }, (_, client) => this.#run(client))
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#running)
  }

  /**
   * The contradictions between outcomes and recorded disclosures; a test expects none.
   * @param educators the educator's id by the id of the assessment
   */
  contradictions(recorded: Recorded[], educators: Map<string, string>): string[] {
    const faults: string[] = []
    const byRequest = Map.groupBy(recorded, ({ request_id }) => request_id)
    for (const [id, outcome] of this.outcomes) {
      const rows = byRequest.get(id) ?? []
      byRequest.delete(id)
      if (rows.length > 1) faults.push(`${id} was recorded ${rows.length} times`)
      if (typeof outcome === 'string') {
        if (outcome === 'without records' && rows.length > 0)
          faults.push(`${id} showed no record, and was recorded as a disclosure`)
        continue
      }
      const people = [...new Set(outcome.ids.map(id => educators.get(id) ?? '?'))]
      const expected = JSON.stringify([inOrder(outcome.ids), inOrder(people)])
      const found = rows.map(row => JSON.stringify([inOrder(row.assessments), inOrder(row.people)]))
      if (found[0] !== expected)
        faults.push(`${id} showed ${expected}, but the recorded disclosure is ${found[0]}`)
    }
    for (const id of byRequest.keys()) faults.push(`${id} was recorded, and never requested`)
    return faults
  }

  /** The number of requests by outcome. */
  summary(): Record<string, number> {
    const kinds = [...this.outcomes.values()].map(outcome =>
      typeof outcome === 'string' ? outcome : 'received',
    )
    return Object.fromEntries([...Map.groupBy(kinds, kind => kind)].map(([kind, all]) => [kind, all.length]))
  }

  async #run(client: number): Promise<void> {
    for (let n = 1; !this.#isStopped; n++) {
      const url = this.urls[randomBelow(this.urls.length)]
      if (url !== undefined) await this.#request(url, `client-${client}.${n}`)
      await Bun.sleep(PAUSE_MS)
    }
  }

  async #request(url: string, id: string): Promise<void> {
    const rest = QUERIES[randomBelow(QUERIES.length)] as string
    const method = randomBelow(8) === 0 ? 'HEAD' : 'GET'
    // On a closed kept-alive connection fetch() would send the request again: two requests with one id.
    const headers = { ...bearer(this.token), 'x-request-id': id, connection: 'close' }
    const signal = AbortSignal.timeout(randomBelow(6) === 0 ? 1 + randomBelow(8) : 10_000)
    const outcome = await fetch(`${url}${LIST}${rest}`, { method, headers, signal, keepalive: false })
      .then(
        async (answer): Promise<Outcome> => outcomeOf(method, answer.status, await answer.text()),
        (): Outcome => 'broken',
      )
      .catch((): Outcome => 'broken')
    this.outcomes.set(id, outcome)
    if (typeof outcome !== 'string') this.received++
  }
}

function outcomeOf(method: string, status: number, text: string): Outcome {
  if (method === 'HEAD') return 'without records'
  if (status >= 500) return 'refused'
  if (status !== 200) return 'without records'
  const body = JSON.parse(text) as { data: { id: number }[] } | { id: number }
  const ids = 'data' in body ? body.data.map(({ id }) => String(id)) : [String(body.id)]
  return ids.length > 0 ? { ids } : 'without records'
}

const inOrder = (ids: string[]) => ids.toSorted((a, b) => Number(BigInt(a) - BigInt(b)))
