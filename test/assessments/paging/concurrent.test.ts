import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Oracle } from '../../support/oracle.ts'
import { holds } from '../../support/property.ts'
import { readOracle } from '../../support/stored-platform.ts'
import { type Access, type AccessChange, anyAccessChange, Client, refusal } from './clients.ts'
import { type Asked, anyAsked, queryString, rightPage } from './questions.ts'
import { type Answer, ask, useTwoServers } from './servers.ts'
import { anyWrite, moveRecords, PRODUCTS, reset, type Write, write } from './world.ts'

/**
 * A writer at work while several clients read over two servers: every answer is the right one for one state
 * between the request's start and its end, of the data and of the integration's access alike.
 */

const number = fc.nat(99)

/** The third kind changes data and access in one transaction: nobody may see the one without the other. */
type Step =
  | { kind: 'write'; write: Write }
  | { kind: 'access'; change: AccessChange }
  | { kind: 'both'; a: number; b: number; c: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('write' as const), write: anyWrite }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('access' as const), change: anyAccessChange }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('both' as const), a: number, b: number, c: number }),
  },
)

const asked = anyAsked(fc.constantFrom(50, 60, 100))

/** A client reads one question after the other, page by page, for as long as the writer writes. */
const questions = fc.array(asked, { minLength: 1, maxLength: 4 })

const two = useTwoServers()

/** What holds from one step to the next: one snapshot of the data, and of what the changing client may do. */
interface State {
  oracle: Oracle
  access: Access
}

/** An answer, and the numbers of the first and of the last step that its request may have met. */
interface Met {
  asked: Asked
  offset: number
  answer: Answer
  from: number
  to: number
  /** Of a client whose access never changes. */
  fixed: Access | undefined
}

function isRight({ asked, offset, answer, fixed }: Met, { oracle, access }: State): boolean {
  const allowed = fixed ?? access
  const right = refusal(allowed) ?? { status: 200, body: rightPage(oracle, allowed, asked, offset) }
  return answer.status === right.status && answer.body === right.body
}

/** Everything that happens in one run: steps are done one after the other, and counted. */
class Run {
  readonly met: Met[] = []
  /** By step. */
  private readonly states: State[] = []
  /** The last step that may be committed. */
  private begun = 0
  private isOver = false

  constructor(
    private readonly changing: Client,
    private readonly token: string,
  ) {}

  async write(steps: Step[]): Promise<void> {
    await this.note()
    for (const step of steps) {
      this.begun += 1
      if (step.kind === 'write') await write(two.db, step.write)
      else if (step.kind === 'access') await this.changing.change(step.change)
      else await this.changeBoth(step.a, step.b, step.c)
      await this.note()
    }
    this.isOver = true
  }

  private async changeBoth(a: number, b: number, c: number): Promise<void> {
    await two.db.begin(async sql => {
      await moveRecords(sql, a, b, c)
      await this.changing.changeScopeWithin(sql, a, c)
    })
  }

  private async note(): Promise<void> {
    this.states.push({ oracle: await readOracle(two.db), access: this.changing.accessOf(this.token) })
  }

  /** Reads with a token whose access never changes unless it is the changing one. */
  async read(token: string, fixed: Access | undefined, questions: Asked[], server: number): Promise<void> {
    for (let turn = 0; !this.isOver; turn++) {
      const asked = questions[turn % questions.length] as Asked
      for (let offset = 0; offset < 300 && !this.isOver; offset += asked.size) {
        const from = Math.max(0, this.states.length - 1)
        const url = two.urls[(server + turn) % 2] as string
        const answer = await ask(url, token, `?${queryString(asked, offset)}`)
        this.met.push({ asked, offset, answer, from, to: this.begun, fixed })
      }
    }
  }

  /** To be called when all is over: only then is every step's state known. */
  check(): void {
    for (const met of this.met) {
      const states = this.states.slice(met.from, met.to + 1)
      const isAnswered = states.some(state => isRight(met, state))
      expect({ ...met, isAnswered }).toMatchObject({ isAnswered: true })
    }
  }
}

test('while others write, an answer fits the data and the access of one moment during the request', async () => {
  const property = fc.asyncProperty(
    fc.array(step, { minLength: 30, maxLength: 50, size: 'max' }),
    fc.array(questions, { minLength: 4, maxLength: 4 }),
    async (steps, [first = [], second = [], third = [], fourth = []]) => {
      await Promise.all([reset(two.db, 280), two.restart()])
      const make = (organizations: number[]) =>
        Client.create(two.db, two.urls, { organizations, products: PRODUCTS })
      const wide = await make([1, 2, 3, 4, 5])
      const narrow = await make([3, 6])
      const changing = await make([1, 2, 3, 4, 5])
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
      run.check()
    },
  )
  // What happens is never the same twice: a failure is as small as it will ask, and shrinking would lose it.
  await holds(property, { runs: 2, thorough: 20, shrink: false })
})
