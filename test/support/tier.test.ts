import { expect, test } from 'bun:test'
import { isChosen } from './tier.ts'

test('of four consecutive seeds, each key is chosen by one, and each seed chooses some keys', () => {
  const keys = ['refresh.test.ts', 'erase.test.ts', 'import.test.ts', 'The list', 'The search', 'The sort']
  for (const seed of [0, 7, 2 ** 31 - 4]) {
    const seeds = [seed, seed + 1, seed + 2, seed + 3]
    const chosen = keys.flatMap(key => seeds.filter(by => isChosen(key, by)))
    expect(chosen).toHaveLength(keys.length)
    expect(new Set(chosen).size).toBeGreaterThan(1)
  }
})
