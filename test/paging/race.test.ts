import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { PageMemory } from '../../src/assessments/page-memory.ts'
import type { Runner } from '../../src/postgres/statement.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
import { ASKED_SORTS, type Asked, History, readBody, type Scope } from './plain.ts'
import { anyWrite, EMPTY, PRODUCTS, reset, type Write, write } from './world.ts'

/**
 * Several requests and a writer on one memory, statement by statement in any order: between any two
 * statements of a request, and between a statement and the arrival of its rows, the others do whatever they
 * like. Each answer must be the plain one of some state between the request's start and its end.
 */

const RUNS = 60

interface Question {
  scope: number
  asked: Asked
  offset: number
}

const SCOPES: Scope[] = [[1, 2, 3, 4, 5], [3], [1, 6], [2, 4, ...EMPTY]].map(organizations => ({
  organizations,
  products: PRODUCTS,
}))

/** Few different ones, so that requests meet in what they remember. */
const question: fc.Arbitrary<Question> = fc.record({
  scope: fc.nat(SCOPES.length - 1),
  asked: fc.record({
    sort: fc.constantFrom(...ASKED_SORTS.slice(0, 2)),
    order: fc.constantFrom('ASC' as const, 'DESC' as const),
    filter: fc.constantFrom(0, 0, 0, 12),
    size: fc.constantFrom(50, 70),
  }),
  offset: fc.constantFrom(0, 50, 51, 70, 100, 120, 150),
})

const anyRace = fc.record({
  readers: fc.array(fc.array(question, { minLength: 1, maxLength: 5, size: 'max' }), {
    minLength: 1,
    maxLength: 4,
    size: 'max',
  }),
  writes: fc.array(
    fc.oneof(
      anyWrite,
      fc.record({
        kind: fc.constantFrom<Write['kind'][]>('within', 'elsewhere', 'insert'),
        a: fc.nat(99),
        b: fc.nat(99),
        c: fc.nat(99),
      }),
    ),
    { maxLength: 5, size: 'max' },
  ),
})

let database: TestDatabase
let history: History
beforeAll(async () => {
  database = await openTestDatabase('postgres')
  history = new History(database.sql)
  await history.start()
})
afterAll(() => database?.close())

/** Does `work` when its turn comes, and nobody else's turn comes before it has been done. */
async function whenReleased<Result>(scheduler: fc.Scheduler, work: () => Promise<Result>): Promise<Result> {
  let done: Promise<Result> = Promise.reject(new Error('was never released'))
  done.catch(() => {})
  const sequence = scheduler.scheduleSequence([
    async () => {
      done = work()
      await done
    },
  ])
  await sequence.task
  return await done
}

/** A pool whose statements, and whose answers, wait for their turn. */
function racing(scheduler: fc.Scheduler): Runner {
  const unsafe: Runner['unsafe'] = async (text, parameters, options) => {
    const rows = await whenReleased(scheduler, async () => {
      const query = database.sql.unsafe(text, parameters, options)
      return await (options.bytes ? query.raw() : query)
    })
    return await whenReleased(scheduler, async () => rows)
  }
  return { unsafe }
}

/** An answer, and the steps that were the last ones at its start and at its end. */
interface Answered {
  question: Question
  body: string
  from: number
  to: number
}

async function isPlain({ question, body, from, to }: Answered): Promise<boolean> {
  const { asked, offset, scope } = question
  for (let step = from; step <= to; step++) {
    if (body === (await history.page(step, SCOPES[scope] as Scope, asked, offset))) return true
  }
  return false
}

test('an answer is the plain one of a state during its request, however statements and writes interleave', async () => {
  let compared = 0
  const property = fc.asyncProperty(fc.scheduler(), anyRace, async (scheduler, { readers, writes }) => {
    await reset(database.sql, 190)
    await history.forget()
    let now = 0
    await history.record(now)
    const db = racing(scheduler)
    const memory = new PageMemory()

    const answers: Answered[] = []
    const read = async (question: Question) => {
      const { asked, offset, scope } = question
      const from = now
      const body = await readBody(db, memory, SCOPES[scope] as Scope, asked, offset)
      answers.push({ question, body, from, to: now })
    }
    const change = (next: Write) =>
      whenReleased(scheduler, async () => {
        await write(database.sql, next)
        await history.record(now + 1)
        now += 1
      })
    const inTurn = async <Item>(items: Item[], work: (item: Item) => Promise<void>) => {
      for (const item of items) await work(item)
    }
    await scheduler.waitFor(
      Promise.all([...readers.map(questions => inTurn(questions, read)), inTurn(writes, change)]),
    )

    compared += answers.length
    for (const answer of answers)
      expect({ ...answer, isPlain: await isPlain(answer) }).toMatchObject({ isPlain: true })
  })
  const seed = Math.floor(Math.random() * 2 ** 31)
  await fc.assert(property, { seed, numRuns: RUNS, interruptAfterTimeLimit: 45_000 })
  console.log(`${compared} answers compared, seed ${seed}`)
})
