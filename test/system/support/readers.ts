import { expect } from 'bun:test'
import { randomBelow, seed } from '../../support/tier.ts'
import { until } from '../../support/until.ts'

/** The right answer to a path in one state of the data. */
export type State = (path: string) => string | undefined

interface Answered {
  path: string
  answer: string | undefined
  began: number
  ended: number
}

const READERS = 6
/** Of each reader, before the work begins and after it has ended. */
const LEAST = 5

/**
 * Runs `work`, which changes the data from one state to another in one transaction, while readers ask for random paths.
 * Each answer has to be exactly that of one of the states: the former one before the work and the latter one after it, and
 * never the former one once any reader has had the latter.
 * @param ask the answer to a path, in the form of the states
 */
export async function whileRead(
  paths: string[],
  [former, latter]: [State, State],
  ask: (path: string) => Promise<string | undefined>,
  work: () => Promise<unknown>,
): Promise<void> {
  const all: Answered[][] = Array.from({ length: READERS }, () => [])
  let isOver = false
  const readers = all.map(async answered => {
    while (!isOver) {
      const path = paths[randomBelow(paths.length)] as string
      const began = performance.now()
      const answer = await ask(path)
      answered.push({ path, answer, began, ended: performance.now() })
    }
  })
  const eachHas = (count: (answered: Answered[]) => number) =>
    until('each reader has read', () => all.every(answered => count(answered) >= LEAST), 60_000)
  let began = 0
  let ended = 0
  try {
    await eachHas(answered => answered.length)
    began = performance.now()
    await work()
    ended = performance.now()
    await eachHas(answered => answered.filter(answer => answer.began > ended).length)
  } finally {
    isOver = true
    await Promise.all(readers)
  }
  const judged = all.flat().map(answered => ({
    ...answered,
    isFormer: former(answered.path) === answered.answer,
    isLatter: latter(answered.path) === answered.answer,
  }))
  const changed = judged.filter(({ isFormer, isLatter }) => isLatter && !isFormer)
  const firstAt = Math.min(...changed.map(answer => answer.ended))
  const faults = judged.flatMap(({ path, isFormer, isLatter, ...answer }) => {
    if (!isFormer && !isLatter) return [`${path} is of neither state: ${answer.answer?.slice(0, 200)}`]
    if (!isLatter && answer.began > Math.min(firstAt, ended)) return [`${path} is of the former state again`]
    if (!isFormer && answer.ended < began) return [`${path} is of the latter state too early`]
    return []
  })
  expect(faults, `TEST_SEED=${seed} repeats the paths`).toEqual([])
  // Answers that are the same in both states show nothing.
  expect(judged.filter(({ isFormer, isLatter }) => isFormer && !isLatter).length).toBeGreaterThan(0)
  expect(changed.length).toBeGreaterThan(0)
}
