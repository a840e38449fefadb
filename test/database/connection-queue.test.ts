import { expect, test } from 'bun:test'
import { ConnectionQueue } from '../../src/database/connection-queue.ts'
import { ClientGone, QueueTimeout } from '../../src/database/failures.ts'

/** Enters for an integration, or for none, and notes when it may begin. Those that never may are left to their time. */
function entered(queue: ConnectionQueue) {
  const begun: string[] = []
  const enter = (name: string, integration: string | undefined = name.charAt(0)) =>
    queue.enter(integration, 60_000).then(
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
    const queue = new ConnectionQueue(size)
    const { begun, enter } = entered(queue)
    for (let at = 0; at < 20; at++) void enter('A')
    await settle()
    expect([queue.inUse, queue.waiting]).toEqual([most, 20 - most])
    const others = size - most
    for (let at = 0; at < others; at++) void (at === 0 ? enter('B') : enter('none', undefined))
    await settle()
    expect(begun.slice(most)).toEqual(['B', 'none', 'none'].slice(0, others))
    expect(queue.inUse).toBe(size)
  },
)

test('what belongs to no integration may have every connection', async () => {
  const queue = new ConnectionQueue(3)
  const { begun, enter } = entered(queue)
  for (const name of ['1', '2', '3']) void queue.enter(undefined, 60_000).then(() => begun.push(name))
  void enter('A')
  await settle()
  expect([begun, queue.waiting]).toEqual([['1', '2', '3'], 1])
})

test('first come is first served, and an integration that has as many as it may is passed over', async () => {
  const queue = new ConnectionQueue(3)
  const { begun, enter } = entered(queue)
  for (const name of ['A1', 'B1', 'C1', 'A2', 'D1', 'B2']) void enter(name)
  await settle()
  expect(begun).toEqual(['A1', 'B1', 'C1'])
  queue.leave('B')
  queue.leave('C')
  await settle()
  expect(begun.slice(3)).toEqual(['D1', 'B2'])
  queue.leave('A')
  await settle()
  expect(begun.slice(5)).toEqual(['A2'])
})

test('what is urgent goes before all that wait, in its own order', async () => {
  const queue = new ConnectionQueue(1)
  await queue.enter('A', 0)
  const { begun, enter } = entered(queue)
  void enter('B1')
  for (const name of ['first', 'second'])
    void queue.enter(undefined, 60_000, undefined, true).then(() => begun.push(name))
  expect(queue.waiting).toBe(3)
  for (const integration of ['A', undefined, undefined]) {
    queue.leave(integration)
    await settle()
  }
  expect(begun).toEqual(['first', 'second', 'B1'])
})

test('a wait ends after its time, or when the client hangs up, and its place is free', async () => {
  const queue = new ConnectionQueue(1)
  await queue.enter('A', 0)
  const client = new AbortController()
  const gone = queue.enter('B', 60_000, client.signal)
  const late = queue.enter('B', 20)
  const { begun, enter } = entered(queue)
  void enter('C')
  client.abort()
  await expect(gone).rejects.toBeInstanceOf(ClientGone)
  await expect(late).rejects.toBeInstanceOf(QueueTimeout)
  await expect(queue.enter('B', 60_000, client.signal)).rejects.toBeInstanceOf(ClientGone)
  expect(queue.waiting).toBe(1)
  queue.leave('A')
  await settle()
  expect([begun, queue.inUse, queue.waiting]).toEqual([['C'], 1, 0])
})

test('when there are fewer connections, the next ones wait, and when there are more, they begin', async () => {
  const queue = new ConnectionQueue(2)
  const { begun, enter } = entered(queue)
  for (const name of ['A1', 'B1', 'C1', 'D1']) void enter(name)
  queue.resize(1)
  queue.leave('A')
  await settle()
  expect(begun).toEqual(['A1', 'B1'])
  queue.resize(3)
  await settle()
  expect(begun).toEqual(['A1', 'B1', 'C1', 'D1'])
})

test('all that wait fail together', async () => {
  const queue = new ConnectionQueue(1)
  await queue.enter(undefined, 0)
  const waits = ['A', 'B'].map(name =>
    queue.enter(name, 60_000, undefined, name === 'B').catch(error => error.message),
  )
  queue.failAll(new Error('lost'))
  expect(await Promise.all(waits)).toEqual(['lost', 'lost'])
  expect(queue.waiting).toBe(0)
})
