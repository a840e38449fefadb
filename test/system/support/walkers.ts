import { LIST, tryList } from '../../support/http.ts'
import { COUNT, IDS } from './replicated.ts'

const PAGE = 50

/** Clients that walk through unchanging data over and over, one for each token, and check every page. */
export class Walkers {
  readonly faults = new Set<string>()
  /** The number of complete walks. */
  walks = 0
  /** The longest time of an answer in milliseconds. */
  slowest = 0
  #isOver = false
  readonly #running: Promise<void>[]

  constructor(url: string, tokens: string[]) {
    this.#running = tokens.map(token => this.#repeat(url, token))
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#running)
  }

  async #repeat(url: string, token: string): Promise<void> {
    while (!this.#isOver) {
      const ids: number[] = []
      for (let offset = 0; offset < COUNT && !this.#isOver; offset += PAGE) {
        const sentAt = performance.now()
        const { status, body } = await tryList(url, token, `page=${PAGE}&offset=${offset}`)
        this.slowest = Math.max(this.slowest, performance.now() - sentAt)
        const page = body as { data: { id: number }[]; meta: { count: number } }
        if (status !== 200) this.faults.add(`${status} for ${LIST}`)
        else if (page.meta.count !== COUNT) this.faults.add(`a count of ${page.meta.count}`)
        else ids.push(...page.data.map(({ id }) => id))
        await Bun.sleep(25)
      }
      if (this.#isOver) return
      if (ids.join() !== IDS.join()) this.faults.add(`a walk of ${ids.length} records`)
      this.walks++
    }
  }
}
