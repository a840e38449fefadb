import { afterAll, beforeAll } from 'bun:test'
import { LIMITS } from '../../../src/assessments/read-list.ts'

/**
 * Lets the service walk lists of more than `short` records, during the tests of a file, and gather shorter ones. A property
 * may set another number for each of its runs.
 */
export function useShort(short = LIMITS.short): void {
  const usual = LIMITS.short
  beforeAll(() => set(short))
  afterAll(() => set(usual))
}

function set(short: number): void {
  LIMITS.short = short
}
