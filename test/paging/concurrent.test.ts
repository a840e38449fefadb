import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Access, type AccessChange, anyAccessChange, Client, refusal } from './clients.ts'
import { ASKED_SORTS, type Asked, FILTER_COUNT, History, queryString } from './plain.ts'
import { type Answer, get, startTwoServers, type TwoServers } from './servers.ts'
import { anyWrite, PRODUCTS, reset, type Write, write } from './world.ts'

/**
 * A writer at work while several clients read over two servers: every answer is the plain one of a state of
 * the data, for a state of the caller, between the request's start and its end.
 */

const RUNS = 3

type Step = { kind: 'write'; write: Write } | { kind: 'access'; change: AccessChange }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('write' as const), write: anyWrite }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('access' as const), change: anyAccessChange }) },
)

const asked: fc.Arbitrary<Asked> = fc.record({
  sort: fc.constantFrom(...ASKED_SORTS),
  order: fc.constantFrom('ASC' as const, 'DESC' as const),
  filter: fc.oneof(fc.constant(0), fc.nat(FILTER_COUNT - 1)),
  size: fc.constantFrom(50, 60, 100),
})

/** A client reads one question after the other, page by page, for as long as the writer writes. */
const questions = fc.array(asked, { minLength: 1, maxLength: 4 })

let two: TwoServers
let history: History
beforeAll(async () => {
  two = await startTwoServers()
  history = new History(two.db)
  await history.start()
})
afterAll(() => two?.close())

/** The states that a request may have met: steps of the data, and what its caller was at each of them. */
interface Met {
  asked: Asked
  offset: number
  answer: Answer
  from: number
  to: number
  access: Access[]
}

async function isPlain({ asked, offset, answer, from, to, access }: Met): Promise<boolean> {
  for (const possible of access) {
    const refused = refusal(possible)
    if (refused && refused.status === answer.status && refused.body === answer.body) return true
    if (refused || answer.status !== 200) continue
    for (let step = from; step <= to; step++) {
      if (answer.body === (await history.page(step, possible, asked, offset))) return true
    }
  }
  return false
}

/** Everything that happens in one run: steps are done one after the other, and counted. */
class Run {
  readonly met: Met[] = []
  /** The last step that is known to be committed, and the last one that may be. */
  private done = 0
  private begun = 0
  private isOver = false
  /** What the one integration of which the rules change was allowed, by step. */
  private readonly access: Access[] = []

  constructor(
    private readonly changing: Client,
    private readonly token: string,
  ) {
    this.access.push(this.current())
  }

  private current(): Access {
    return this.changing.accessOf(this.token)
  }

  async write(steps: Step[]): Promise<void> {
    for (const step of steps) {
      this.begun += 1
      if (step.kind === 'write') await write(two.db, step.write)
      else await this.changing.change(step.change)
      this.access.push(this.current())
      await history.record(this.begun)
      this.done = this.begun
    }
    this.isOver = true
  }

  /** Reads as the given token's caller, whose access never changes unless it is the changing one. */
  async read(token: string, fixed: Access | undefined, questions: Asked[], server: number): Promise<void> {
    for (let turn = 0; !this.isOver; turn++) {
      const asked = questions[turn % questions.length] as Asked
      for (let offset = 0; offset < 300 && !this.isOver; offset += asked.size) {
        const from = this.done
        const url = two.urls[(server + turn) % 2] as string
        const answer = await get(url, token, `?${queryString(asked, offset)}`)
        const to = this.begun
        this.met.push({ asked, offset, answer, from, to, access: fixed ? [fixed] : [] })
      }
    }
  }

  /** To be called when all is over: only then is every step's access known. */
  async check(): Promise<void> {
    for (const met of this.met) {
      const access = met.access.length > 0 ? met.access : this.access.slice(met.from, met.to + 1)
      const isAnswered = await isPlain({ ...met, access })
      expect({ ...met, isAnswered }).toMatchObject({ isAnswered: true })
    }
  }
}

test('while others write, an answer is that of plain OFFSET and count(*) on a state during the request', async () => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  let compared = 0
  const property = fc.asyncProperty(
    fc.array(step, { minLength: 30, maxLength: 50, size: 'max' }),
    fc.array(questions, { minLength: 4, maxLength: 4 }),
    async (steps, [first = [], second = [], third = [], fourth = []]) => {
      await Promise.all([reset(two.db, 280), two.restart(), history.forget()])
      await history.record(0)
      const make = (organizations: number[]) =>
        Client.create(two.db, two.urls, { organizations, products: PRODUCTS })
      const [wide, narrow, changing] = [
        await make([1, 2, 3, 4, 5]),
        await make([3, 6]),
        await make([1, 2, 3, 4, 5]),
      ]
      const { text } = changing.token(0)
      const run = new Run(changing, text)
      const readAs = (client: Client, questions: Asked[], server: number) => {
        const { text, access } = client.token(0)
        return run.read(text, access, questions, server)
      }
      await Promise.all([
        run.write(steps),
        readAs(wide, first, 0),
        readAs(wide, second, 1),
        readAs(narrow, third, 0),
        run.read(text, undefined, fourth, 1),
      ])
      await run.check()
      compared += run.met.length
    },
  )
  // What happens is never the same twice: a failure is as small as it will get, and shrinking would lose it.
  await fc.assert(property, { seed, numRuns: RUNS, endOnFailure: true })
  console.log(`${compared} answers compared, seed ${seed}`)
})
