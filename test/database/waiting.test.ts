import { expect, test } from 'bun:test'
import { ClientGone, QueueTimeout } from '../../src/database/failures.ts'
import { Waiting } from '../../src/database/waiting.ts'

/** Enters for an integration, or for none, and notes when it may begin. Those that never may are left to their time. */
function entered(waiting: Waiting) {
  const begun: string[] = []
  const enter = (name: string, integration: string | undefined = name.charAt(0)) =>
    waiting.enter(integration, 60_000).then(
      () => void begun.push(name),
      () => {},
    )
  return { begun, enter }
}

/** Lets everything happen that waits for nothing. */
const settle = () => Bun.sleep(1)

test.each([
  [1, 1],
  [2, 1],
  [3, 1],
  [4, 2],
  [10, 8],
])(
  'of %i connections an integration has %i at most, and others take the rest at once',
  async (size, most) => {
    const waiting = new Waiting(size)
    const { begun, enter } = entered(waiting)
    for (let at = 0; at < 20; at++) void enter('A')
    await settle()
    expect([waiting.inUse, waiting.waiting]).toEqual([most, 20 - most])
    const others = size - most
    for (let at = 0; at < others; at++) void (at === 0 ? enter('B') : enter('none', undefined))
    await settle()
    expect(begun.slice(most)).toEqual(['B', 'none', 'none'].slice(0, others))
    expect(waiting.inUse).toBe(size)
  },
)

test('what belongs to no integration may have every connection', async () => {
  const waiting = new Waiting(3)
  const { begun, enter } = entered(waiting)
  for (const name of ['1', '2', '3']) void waiting.enter(undefined, 60_000).then(() => begun.push(name))
  void enter('A')
  await settle()
  expect([begun, waiting.waiting]).toEqual([['1', '2', '3'], 1])
})

test('first come is first served, and an integration that has as many as it may is passed over', async () => {
  const waiting = new Waiting(3)
  const { begun, enter } = entered(waiting)
  for (const name of ['A1', 'B1', 'C1', 'A2', 'D1', 'B2']) void enter(name)
  await settle()
  expect(begun).toEqual(['A1', 'B1', 'C1'])
  waiting.leave('B')
  waiting.leave('C')
  await settle()
  expect(begun.slice(3)).toEqual(['D1', 'B2'])
  waiting.leave('A')
  await settle()
  expect(begun.slice(5)).toEqual(['A2'])
})

test('a wait ends after its time, or when the client hangs up, and its place is free', async () => {
  const waiting = new Waiting(1)
  await waiting.enter('A', 0)
  const client = new AbortController()
  const gone = waiting.enter('B', 60_000, client.signal)
  const late = waiting.enter('B', 20)
  const { begun, enter } = entered(waiting)
  void enter('C')
  client.abort()
  await expect(gone).rejects.toBeInstanceOf(ClientGone)
  await expect(late).rejects.toBeInstanceOf(QueueTimeout)
  await expect(waiting.enter('B', 60_000, client.signal)).rejects.toBeInstanceOf(ClientGone)
  expect(waiting.waiting).toBe(1)
  waiting.leave('A')
  await settle()
  expect([begun, waiting.inUse, waiting.waiting]).toEqual([['C'], 1, 0])
})

test('when there are fewer connections, the next ones wait, and when there are more, they begin', async () => {
  const waiting = new Waiting(2)
  const { begun, enter } = entered(waiting)
  for (const name of ['A1', 'B1', 'C1', 'D1']) void enter(name)
  waiting.resize(1)
  waiting.leave('A')
  await settle()
  expect(begun).toEqual(['A1', 'B1'])
  waiting.resize(3)
  await settle()
  expect(begun).toEqual(['A1', 'B1', 'C1', 'D1'])
})

test('all that wait fail together', async () => {
  const waiting = new Waiting(1)
  await waiting.enter(undefined, 0)
  const waits = ['A', 'B'].map(name => waiting.enter(name, 60_000).catch(error => error.message))
  waiting.failAll(new Error('lost'))
  expect(await Promise.all(waits)).toEqual(['lost', 'lost'])
  expect(waiting.waiting).toBe(0)
})
