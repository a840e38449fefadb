import { afterAll, beforeAll } from 'bun:test'
import { COSTS } from '../../../src/assessments/read-list.ts'

/** What a walk costs for each record that it passes: all lists are walked, all are gathered, or either, as it costs less. */
export const WALKED = 0
export const GATHERED = 1e9
export const EITHER = COSTS.passed

/** Lets the service walk or gather lists, during the tests of a file. A property may change that for each of its runs. */
export function useWay(passed = EITHER): void {
  beforeAll(() => setWay(passed))
  afterAll(() => setWay(EITHER))
}

export function setWay(passed: number): void {
  COSTS.passed = passed
}
