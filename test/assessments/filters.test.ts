import { expect, test } from 'bun:test'
import { constraints } from '../../src/assessments/filters.ts'

test.each([
  ['smith', 'search'],
  ['a1b', 'search'],
  ['siâ', 'search'],
  ['éan', 'search'],
  ["o'n", 'search_short'],
  ['ab%', 'search'],
  ['李 anna', 'search'],
  ['an', 'search_short'],
  ['an b', 'search_short'],
  ['ab c', 'search_short'],
  ['aéb', 'search_short'],
  ['王', 'search_short'],
])('The search for %s is %s: with an index of names, or without', (search, name) => {
  expect(constraints({ search }).filters).toEqual([name])
})
