import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { PageMemory } from '../../../src/assessments/page-memory.ts'
import type { Runner } from '../../../src/database/statement.ts'
import type { Oracle, Scope } from '../../support/oracle.ts'
import { holds } from '../../support/property.ts'
import { readOracle } from '../../support/stored-platform.ts'
import { useDatabase } from './database.ts'
import { EITHER, SORTED_ALL, setWay, useWay, WALKED } from './limits.ts'
import { issueTokens, type ListParameters, readBody, rightPage, SORTS } from './questions.ts'
import { runnerOn } from './runners.ts'
import { anyWrite, EMPTY, PRODUCTS, reset, type Write, write } from './world.ts'

/**
 * Several requests and a writer share one page memory, and run statement by statement in a random order.
 * Between two statements of a request, and between a statement and the arrival of its rows, any others may
 * run. Each answer must be right for some state between the start and the end of its request.
 */

interface Question {
  scope: number
  parameters: ListParameters
  offset: number
}

const SCOPES: Scope[] = [[1, 2, 3, 4, 5], [3], [1, 6], [2, 4, ...EMPTY]].map(organizations => ({
  organizations,
  products: PRODUCTS,
}))

/** Few different requests, so that they often share what is remembered. */
const question: fc.Arbitrary<Question> = fc.record({
  scope: fc.nat(SCOPES.length - 1),
  parameters: fc.record({
    sort: fc.constantFrom(...SORTS.slice(0, 2)),
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
  /** Whether lists are walked or sorted. */
  few: fc.constantFrom(WALKED, EITHER, SORTED_ALL),
  writes: fc.array(
    fc.oneof(
      anyWrite,
      fc
        .tuple(anyWrite, fc.constantFrom<Write['kind'][]>('within', 'elsewhere', 'insert'))
        .map(([write, kind]) => ({ ...write, kind })),
    ),
    { maxLength: 5, size: 'max' },
  ),
})

useWay()
const db = useDatabase()

/** Runs `work` when the scheduler selects it, and lets nothing else run until it ends. */
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

/** A pool whose statements and answers wait for the scheduler. */
function racing(scheduler: fc.Scheduler): Runner {
  return runnerOn(db.sql, async run => {
    const rows = await whenReleased(scheduler, run)
    return await whenReleased(scheduler, async () => rows)
  })
}

/** An answer, and the states of the data during its request. */
interface Answered {
  question: Question
  body: string
  during: Oracle[]
}

test('an answer equals one state during its request, for any order of statements and writes', async () => {
  const property = fc.asyncProperty(fc.scheduler(), anyRace, async (scheduler, { readers, writes, few }) => {
    setWay(few)
    await reset(db.sql, 190)
    await issueTokens(db.sql, ...SCOPES)
    // The state after each step; the last one is the current state.
    const states: Oracle[] = [await readOracle(db.sql)]
    const racer = racing(scheduler)
    const memory = new PageMemory()

    const answers: Answered[] = []
    const read = async (question: Question) => {
      const { parameters, offset, scope } = question
      const from = states.length - 1
      const body = await readBody(racer, memory, SCOPES[scope] as Scope, parameters, offset)
      answers.push({ question, body, during: states.slice(from) })
    }
    const change = (next: Write) =>
      whenReleased(scheduler, async () => {
        await write(db.sql, next)
        states.push(await readOracle(db.sql))
      })
    const inTurn = async <Item>(items: Item[], work: (item: Item) => Promise<void>) => {
      for (const item of items) await work(item)
    }
    await scheduler.waitFor(
      Promise.all([...readers.map(questions => inTurn(questions, read)), inTurn(writes, change)]),
    )

    for (const { question, body, during } of answers) {
      const { parameters, offset, scope } = question
      const right = during.map(state => rightPage(state, SCOPES[scope] as Scope, parameters, offset))
      expect(right, JSON.stringify(question)).toContain(body)
    }
  })
  await holds(property, { runs: 8, thorough: 20 })
})
