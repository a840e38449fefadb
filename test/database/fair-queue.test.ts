import { expect, spyOn, test } from 'bun:test'
import { FairQueue, RECORDING_LANE, SERVICE_LANE } from '../../src/database/pool/fair-queue.ts'

/** A FairQueue with these waiters; "A1" is the first waiter of lane A. */
function lanes(...waiting: string[]): FairQueue<string> {
  const line = new FairQueue<string>()
  for (const name of waiting) line.add(name.charAt(0), name)
  return line
}

/** All waiters in the order of their turns. */
const turns = (line: FairQueue<string>) =>
  Array.from({ length: line.size }, () => line.next()).filter(name => name !== undefined)

test('the lanes take turns, and each lane is first come, first served', () => {
  expect(turns(lanes('A1', 'A2', 'A3', 'A4', 'B1', 'B2', 'C1'))).toEqual([
    'A1',
    'B1',
    'C1',
    'A2',
    'B2',
    'A3',
    'A4',
  ])
})

test('the first waiter of a new lane waits for at most one waiter of each other lane', () => {
  const line = lanes('A1', 'A2', 'A3')
  expect(line.next()).toBe('A1')
  line.add('B', 'B1')
  expect(turns(line)).toEqual(['A2', 'B1', 'A3'])
})

test('a lane that may have none keeps its turn', () => {
  const line = lanes('A1', 'A2', 'B1', 'B2')
  expect(line.next(name => name !== 'A')).toBe('B1')
  expect([...line.waiting()]).toEqual([
    ['A', 2],
    ['B', 1],
  ])
  expect(line.next(() => false)).toBeUndefined()
  expect(turns(line)).toEqual(['A1', 'B2', 'A2'])
})

test('a waiter that leaves is not counted, and the order of the others is unchanged', () => {
  const line = lanes('A1', 'A2', 'B1')
  line.delete('A', 'A1')
  line.delete('B', 'B1')
  line.delete('B', 'B1')
  expect([line.size, line.all()]).toEqual([1, ['A2']])
  expect(turns(line)).toEqual(['A2'])
  expect([line.size, line.next()]).toEqual([0, undefined])
})

test('the size is a number that no request has to count', () => {
  const line = lanes('A1', 'A2', 'B1')
  const copy = spyOn(line, 'all')
  const sizes = [line.size]
  for (const leave of [() => line.next(), () => line.delete('A', 'A2'), () => line.delete('A', 'A2')]) {
    leave()
    sizes.push(line.size)
  }
  expect(sizes).toEqual([3, 2, 1, 1])
  expect(line.all()).toEqual(['B1'])
  line.next()
  line.next()
  expect(line.size).toBe(0)
  expect(copy).toHaveBeenCalledTimes(1)
})

test.each([
  ['of another lane', 'C', ['A1', 'B1', 'B2', 'A2', 'B3'], 'B3'],
  [
    "of a lane that is at least as long afterwards as the newcomer's lane",
    'A',
    ['A1', 'B1', 'B2', 'B3'],
    'B3',
  ],
  ['not of a lane that would be shorter afterwards', 'A', ['A1', 'B1', 'B2'], undefined],
  ["not of the newcomer's own lane", 'A', ['A1', 'A2', 'A3'], undefined],
  ['not of a lane with one waiter', 'A', ['B1'], undefined],
  ['none if the queue is empty', 'A', [], undefined],
])('the last waiter of the longest lane is removed for a newcomer: %s', (_, newcomer, waiting, last) => {
  expect(lanes(...waiting).lastBut(newcomer)).toBe(last)
})

test('neither a recording nor a statement of no request gives up its place', () => {
  const line = lanes('A1', 'A2')
  for (const lane of [RECORDING_LANE, SERVICE_LANE]) for (const at of [1, 2, 3, 4]) line.add(lane, lane + at)
  expect(line.lastBut('B')).toBe('A2')
  line.delete('A', 'A2')
  expect(line.lastBut('B')).toBeUndefined()
})
