import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type AccessChange, anyAccessChange, Client, refusal } from './clients.ts'
import { ASKED_SORTS, type Asked, FILTER_COUNT, History, queryString } from './plain.ts'
import { type Answer, get, startTwoServers, type TwoServers } from './servers.ts'
import { anyWrite, EMPTY, PRODUCTS, reset, type Write, write } from './world.ts'

/**
 * Writes and pages one after the other, over two servers whose memories know nothing of each other: every
 * answer is what plain OFFSET and count(*) give for the data, and the rules for the caller, at that moment.
 * Between two writes several clients read at once.
 */

const RUNS = 25

/** Where a client goes from the page it has just read. */
type Move =
  | { kind: 'next' | 'back' | 'again' | 'last' | 'beyond' | 'unreadable' }
  | { kind: 'jump'; offset: number }
  | { kind: 'ask'; asked: Asked }
  /** The same place in another order of the same records. */
  | { kind: 'turn' }
  | { kind: 'sort'; sort: Asked['sort'] }
  | { kind: 'retrieve'; id: number }

interface Walk {
  client: number
  /** Seldom an older token than the newest. */
  age: number
  moves: { move: Move; server: 0 | 1 }[]
}

type Step =
  | { kind: 'write'; write: Write }
  | { kind: 'access'; client: number; change: AccessChange }
  | { kind: 'read'; walks: Walk[] }

const asked: fc.Arbitrary<Asked> = fc.record({
  sort: fc.constantFrom(...ASKED_SORTS),
  order: fc.constantFrom('ASC' as const, 'DESC' as const),
  filter: fc.oneof(fc.constant(0), fc.nat(FILTER_COUNT - 1)),
  size: fc.oneof(fc.constantFrom(100, 50, 60), fc.integer({ min: 1, max: 100 })),
})

const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 12, arbitrary: fc.constant<Move>({ kind: 'next' }) },
  { weight: 4, arbitrary: fc.constantFrom<Move[]>({ kind: 'back' }, { kind: 'again' }, { kind: 'last' }) },
  { weight: 1, arbitrary: fc.constantFrom<Move[]>({ kind: 'beyond' }, { kind: 'unreadable' }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('jump' as const), offset: fc.nat(330) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('ask' as const), asked }) },
  { weight: 3, arbitrary: fc.constant<Move>({ kind: 'turn' }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('sort' as const), sort: fc.constantFrom(...ASKED_SORTS) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('retrieve' as const), id: fc.nat(330).map(n => n * 10) }),
  },
)

const client = fc.nat(2)
const walk: fc.Arbitrary<Walk> = fc.record({
  client,
  age: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(2) }),
  moves: fc.array(fc.record({ move, server: fc.constantFrom<(0 | 1)[]>(0, 1) }), {
    minLength: 1,
    maxLength: 12,
    size: 'max',
  }),
})

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('write' as const), write: anyWrite }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('access' as const), client, change: anyAccessChange }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      walks: fc.array(walk, { minLength: 1, maxLength: 4, size: 'max' }),
    }),
  },
)

let two: TwoServers
let history: History
beforeAll(async () => {
  two = await startTwoServers()
  history = new History(two.db)
  await history.start()
})
afterAll(() => two?.close())

/** A client with the page that it is at. */
interface Reader {
  client: Client
  asked: Asked
  offset: number
}

async function startReaders(): Promise<Reader[]> {
  const scopes = [
    { organizations: [1, 2, 3, 4, 5], products: PRODUCTS },
    { organizations: [1, 3, ...EMPTY], products: [1, 3] },
    { organizations: [3], products: PRODUCTS },
  ]
  const first: Asked = { sort: 'certified_on', order: 'ASC', filter: 0, size: 60 }
  return await Promise.all(
    scopes.map(async scope => ({
      client: await Client.create(two.db, two.urls, scope),
      asked: first,
      offset: 0,
    })),
  )
}

let pages = 0

/** Makes a move and compares the answer. */
async function read(reader: Reader, age: number, move: Move, server: 0 | 1): Promise<void> {
  const { text, access } = reader.client.token(age)
  const refused = refusal(access)
  let rest: string
  let expected: Answer
  if (move.kind === 'retrieve') {
    rest = `/${move.id}`
    const document = await history.document(0, access, move.id)
    const absent = { status: 404, body: '{"errors":[{"message":"Assessment not found"}]}' }
    expected = refused ?? (document === undefined ? absent : { status: 200, body: document })
  } else if (move.kind === 'unreadable') {
    rest = '?offset=x'
    const message = { message: 'offset must be a whole number, at least 0', parameter: 'offset' }
    expected = refused ?? { status: 400, body: JSON.stringify({ errors: [message] }) }
  } else {
    go(reader, move)
    rest = `?${queryString(reader.asked, reader.offset)}`
    const body = refused ? '' : await history.page(0, access, reader.asked, reader.offset)
    expected = refused ?? { status: 200, body }
  }
  const answer = await get(two.urls[server], text, rest)
  pages += 1
  expect({ rest, ...answer }).toStrictEqual({ rest, ...expected })
}

function go(reader: Reader, move: Move): void {
  const { size } = reader.asked
  if (move.kind === 'next') reader.offset += size
  else if (move.kind === 'back') reader.offset = Math.max(0, reader.offset - size)
  else if (move.kind === 'last') reader.offset = Math.max(0, 260 - size)
  else if (move.kind === 'beyond') reader.offset = 100_000
  else if (move.kind === 'jump') reader.offset = move.offset
  else if (move.kind === 'turn')
    reader.asked = { ...reader.asked, order: reader.asked.order === 'ASC' ? 'DESC' : 'ASC' }
  else if (move.kind === 'sort') reader.asked = { ...reader.asked, sort: move.sort }
  else if (move.kind === 'ask') Object.assign(reader, { asked: move.asked, offset: 0 })
  // A client that is beyond the end begins anew.
  if (move.kind === 'next' && reader.offset > 400) reader.offset = 0
}

test('every answer is that of plain OFFSET and count(*) on the data of its moment, on both of two servers', async () => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  const property = fc.asyncProperty(
    fc.integer({ min: 0, max: 320 }),
    fc.array(step, { minLength: 1, maxLength: 40, size: 'max' }),
    async (records, steps) => {
      await Promise.all([reset(two.db, records), two.restart()])
      const readers = await startReaders()
      let isStale = true
      for (const step of steps) {
        if (step.kind === 'write') {
          await write(two.db, step.write)
          isStale = true
        } else if (step.kind === 'access') {
          await readers[step.client]?.client.change(step.change)
        } else {
          if (isStale) {
            await history.forget()
            await history.record(0)
            isStale = false
          }
          await Promise.all(
            step.walks.map(async ({ client, age, moves }) => {
              // Walks of one client share its integration and nothing else.
              const reader = { ...(readers[client] as Reader) }
              for (const { move, server } of moves) await read(reader, age, move, server)
              readers[client] = reader
            }),
          )
        }
      }
    },
  )
  await fc.assert(property, { seed, numRuns: RUNS, interruptAfterTimeLimit: 45_000 })
  console.log(`${pages} answers compared, seed ${seed}`)
})
