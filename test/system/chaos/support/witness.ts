import type { Recorded } from '../../../support/disclosures.ts'
import { bearer, LIST } from '../../../support/http.ts'
import { randomBelow } from '../../../support/tier.ts'

/** What became of a request: the ids of the records that came, whole; another answer; or its sending broke off. */
type Outcome = { ids: string[] } | 'without records' | 'refused' | 'broken'

/** Milliseconds between two requests of a client. */
const PAUSE = 2

const QUERIES = [
  ...['', '?page=100', '?page=7&offset=13', '?offset=100000', '?sort=user_name&order=DESC&page=20'],
  ...['?filter[search]=given', '?filter[user_ids][]=101&filter[user_ids][]=4000000000', '?page=none'],
  ...['?filter[legacy_record][]=true', '?filter[start_date]=2026-01-01&page=3', '/1001', '/1005', '/7'],
]

/**
 * Clients that ask at random, of whatever servers there are at the moment, hang up now and then, and note by the id of
 * each request what they had of it.
 */
export class Witness {
  /** By the id of the request. */
  readonly outcomes = new Map<string, Outcome>()
  /** Where to ask; a server that is gone is not answered. */
  urls: string[] = []
  received = 0
  #isStopped = false
  readonly #running: Promise<void>[]

  constructor(
    private readonly token: string,
    clients: number,
  ) {
    this.#running = Array.from({ length: clients }, (_, client) => this.#askOn(client))
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#running)
  }

  /** What contradicts what was recorded; empty is what everybody wants. @param educators by the id of the assessment */
  contradictions(recorded: Recorded[], educators: Map<string, string>): string[] {
    const faults: string[] = []
    const byRequest = Map.groupBy(recorded, ({ request_id }) => request_id)
    for (const [id, outcome] of this.outcomes) {
      const rows = byRequest.get(id) ?? []
      byRequest.delete(id)
      if (rows.length > 1) faults.push(`${id} was recorded ${rows.length} times`)
      if (typeof outcome === 'string') {
        if (outcome === 'without records' && rows.length > 0)
          faults.push(`${id} showed nobody, and was recorded`)
        continue
      }
      const people = [...new Set(outcome.ids.map(one => educators.get(one) ?? '?'))]
      const expected = JSON.stringify([inOrder(outcome.ids), inOrder(people)])
      const found = rows.map(row => JSON.stringify([inOrder(row.assessments), inOrder(row.people)]))
      if (found[0] !== expected)
        faults.push(`${id} was received, and not recorded: ${expected}, but ${found[0]}`)
    }
    for (const id of byRequest.keys()) faults.push(`${id} was recorded, and never asked`)
    return faults
  }

  /** How many requests there were of each outcome. */
  summary(): Record<string, number> {
    const kinds = [...this.outcomes.values()].map(one => (typeof one === 'string' ? one : 'received'))
    return Object.fromEntries([...Map.groupBy(kinds, kind => kind)].map(([kind, all]) => [kind, all.length]))
  }

  async #askOn(client: number): Promise<void> {
    for (let n = 1; !this.#isStopped; n++) {
      const url = this.urls[randomBelow(this.urls.length)]
      if (url !== undefined) await this.#ask(url, `client-${client}.${n}`)
      await Bun.sleep(PAUSE)
    }
  }

  async #ask(url: string, id: string): Promise<void> {
    const rest = QUERIES[randomBelow(QUERIES.length)] as string
    const method = randomBelow(8) === 0 ? 'HEAD' : 'GET'
    // A connection that is kept would be tried once more by fetch() where it is closed: one id for two requests.
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
