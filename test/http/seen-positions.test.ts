import { expect, test } from 'bun:test'
import { SeenPositions } from '../../src/http/seen-positions.ts'
import { sha256 } from '../../src/random.ts'

const [TOKEN, OTHER] = [sha256('a token'), sha256('another token')]

test('a token has seen the newest position of its answers, and nothing of those of another token', () => {
  const seen = new SeenPositions()
  expect(seen.of(TOKEN)).toBeUndefined()
  seen.note(TOKEN, 7, undefined)
  seen.note(TOKEN, 9, 7)
  seen.note(OTHER, 3, undefined)
  expect([seen.of(TOKEN), seen.of(OTHER)]).toEqual([9, 3])
})

test('an answer below what the token had seen before its request is of a primary that was set back', () => {
  const seen = new SeenPositions()
  seen.note(TOKEN, 9, undefined)
  seen.note(TOKEN, 4, 9)
  expect(seen.of(TOKEN)).toBe(4)
})

test('of two requests at the same time, the one with the older data that ends last takes nothing back', () => {
  const seen = new SeenPositions()
  seen.note(TOKEN, 5, undefined)
  const [before, after] = [seen.of(TOKEN), seen.of(TOKEN)]
  seen.note(TOKEN, 8, after)
  seen.note(TOKEN, 6, before)
  expect(seen.of(TOKEN)).toBe(8)
})

test('of two requests at the moment when a primary was set back, the later one takes back nothing that was shown since', () => {
  const seen = new SeenPositions()
  seen.note(TOKEN, 100, undefined)
  const [first, second] = [seen.of(TOKEN), seen.of(TOKEN)]
  seen.note(TOKEN, 50, first)
  seen.note(TOKEN, 55, seen.of(TOKEN))
  seen.note(TOKEN, 50, second)
  expect(seen.of(TOKEN)).toBe(55)
})
