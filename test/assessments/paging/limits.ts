import { afterAll, beforeAll } from 'bun:test'
import { LIMITS } from '../../../src/assessments/filters.ts'

/** Up to how many records a list is sorted: then all lists are walked, all are sorted, or either. */
export const WALKED = 0
export const SORTED_ALL = 1e9
export const EITHER = LIMITS.sorted

/** Lets the service walk or sort lists, during the tests of a file. A property may change that for each of its runs. */
export function useWay(few = EITHER): void {
  beforeAll(() => setWay(few))
  afterAll(() => setWay(EITHER))
}

export function setWay(few: number): void {
  LIMITS.sorted = few
}
