import { expect, test } from 'bun:test'
import { isChosen } from './tier.ts'

test('of three consecutive seeds, each key is chosen by one, and each seed chooses some keys', () => {
  const keys = ['refresh.test.ts', 'erase.test.ts', 'import.test.ts', 'The list', 'The search', 'The sort']
  for (const seed of [0, 7, 2 ** 31 - 3]) {
    const seeds = [seed, seed + 1, seed + 2]
    const chosen = keys.flatMap(key => seeds.filter(by => isChosen(key, by)))
    expect(chosen).toHaveLength(keys.length)
    expect(new Set(chosen).size).toBeGreaterThan(1)
  }
})
