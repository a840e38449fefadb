import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Oracle } from '../../support/oracle.ts'
import { holds } from '../../support/property.ts'
import { readOracle } from '../../support/stored-platform.ts'
import { NO_NUMBER } from '../../support/wordings.ts'
import { type AccessChange, anyAccessChange, Client, refusal } from './clients.ts'
import { EITHER, SORTED_ALL, setWay, useWay, WALKED } from './limits.ts'
import {
  anyParameters,
  type ListParameters,
  queryString,
  rightPage,
  rightRecord,
  SORTS,
} from './questions.ts'
import { type Answer, ask, useTwoServers } from './servers.ts'
import { anyWrite, EMPTY, PRODUCTS, reset, type Write, write } from './world.ts'

/**
 * Writes and pages one after the other, over two services that share no memory. Every answer must be right
 * for the data and the access of its token at that moment. Between two writes several clients read
 * concurrently.
 */

/** The next request of a client, relative to the page that it has just read. */
type Move =
  | { kind: 'next' | 'back' | 'again' | 'last' | 'beyond' | 'unreadable' }
  | { kind: 'jump'; offset: number }
  | { kind: 'ask'; parameters: ListParameters }
  /** The same offset in the opposite direction of the sort. */
  | { kind: 'turn' }
  | { kind: 'sort'; sort: ListParameters['sort'] }
  | { kind: 'retrieve'; id: number }

interface Walk {
  client: number
  /** How many tokens before the newest one; 0 in most cases. */
  age: number
  moves: { move: Move; server: 0 | 1 }[]
}

type Step =
  | { kind: 'write'; write: Write }
  | { kind: 'access'; client: number; change: AccessChange }
  | { kind: 'read'; walks: Walk[] }

const parameters = anyParameters(fc.oneof(fc.constantFrom(100, 50, 60), fc.integer({ min: 1, max: 100 })))

const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 12, arbitrary: fc.constant<Move>({ kind: 'next' }) },
  { weight: 4, arbitrary: fc.constantFrom<Move[]>({ kind: 'back' }, { kind: 'again' }, { kind: 'last' }) },
  { weight: 1, arbitrary: fc.constantFrom<Move[]>({ kind: 'beyond' }, { kind: 'unreadable' }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('jump' as const), offset: fc.nat(330) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('ask' as const), parameters }) },
  { weight: 3, arbitrary: fc.constant<Move>({ kind: 'turn' }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(...SORTS).map((sort): Move => ({ kind: 'sort', sort })),
  },
  {
    weight: 1,
    arbitrary: fc.nat(330).map((n): Move => ({ kind: 'retrieve', id: n * 10 })),
  },
)

const several = <T>(arbitrary: fc.Arbitrary<T>, maxLength: number) =>
  fc.array(arbitrary, { minLength: 1, maxLength, size: 'max' })

const client = fc.nat(2)
const walk: fc.Arbitrary<Walk> = fc.record({
  client,
  age: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(2) }),
  moves: several(fc.record({ move, server: fc.constantFrom<(0 | 1)[]>(0, 1) }), 12),
})

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('write' as const), write: anyWrite }) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(client, anyAccessChange)
      .map(([client, change]): Step => ({ kind: 'access', client, change })),
  },
  {
    weight: 5,
    arbitrary: several(walk, 4).map((walks): Step => ({ kind: 'read', walks })),
  },
)

useWay()
const two = useTwoServers()

/** A client and its current page. */
interface Reader {
  client: Client
  parameters: ListParameters
  offset: number
}

async function startReaders(): Promise<Reader[]> {
  const scopes = [
    { organizations: [1, 2, 3, 4, 5], products: PRODUCTS },
    { organizations: [1, 3, ...EMPTY], products: [1, 3] },
    { organizations: [3], products: PRODUCTS },
  ]
  const first: ListParameters = { sort: 'certified_on', order: 'ASC', filter: 0, size: 60 }
  return await Promise.all(
    scopes.map(async scope => ({
      client: await Client.create(two.db, two.urls, scope),
      parameters: first,
      offset: 0,
    })),
  )
}

/** Makes a move and compares the answer with the oracle. */
async function read(oracle: Oracle, reader: Reader, age: number, move: Move, server: 0 | 1): Promise<void> {
  const { text, access } = reader.client.token(age)
  const refused = refusal(access)
  let rest: string
  let expected: Answer
  if (move.kind === 'retrieve') {
    rest = `/${move.id}`
    expected = refused ?? rightRecord(oracle, access, move.id)
  } else if (move.kind === 'unreadable') {
    rest = '?offset=x'
    const message = { message: `offset ${NO_NUMBER}, at least 0`, parameter: 'offset' }
    expected = refused ?? { status: 400, body: JSON.stringify({ errors: [message] }) }
  } else {
    go(reader, move)
    rest = `?${queryString(reader.parameters, reader.offset)}`
    expected = refused ?? { status: 200, body: rightPage(oracle, access, reader.parameters, reader.offset) }
  }
  const answer = await ask(two.urls[server], text, rest)
  expect({ rest, ...answer }).toStrictEqual({ rest, ...expected })
}

function go(reader: Reader, move: Move): void {
  const { size } = reader.parameters
  if (move.kind === 'next') reader.offset += size
  else if (move.kind === 'back') reader.offset = Math.max(0, reader.offset - size)
  else if (move.kind === 'last') reader.offset = Math.max(0, 260 - size)
  else if (move.kind === 'beyond') reader.offset = 100_000
  else if (move.kind === 'jump') reader.offset = move.offset
  else if (move.kind === 'turn')
    reader.parameters = { ...reader.parameters, order: reader.parameters.order === 'ASC' ? 'DESC' : 'ASC' }
  else if (move.kind === 'sort') reader.parameters = { ...reader.parameters, sort: move.sort }
  else if (move.kind === 'ask') Object.assign(reader, { parameters: move.parameters, offset: 0 })
  // A client far beyond the end starts from the first page.
  if (move.kind === 'next' && reader.offset > 400) reader.offset = 0
}

test('on both of two services, every answer equals the oracle for the data and the access of its moment', async () => {
  const property = fc.asyncProperty(
    fc.integer({ min: 0, max: 320 }),
    several(step, 40),
    // Whether lists are walked or sorted.
    fc.constantFrom(WALKED, EITHER, SORTED_ALL),
    async (records, steps, few) => {
      setWay(few)
      await Promise.all([reset(two.db, records), two.restart()])
      const readers = await startReaders()
      let oracle: Oracle | undefined
      for (const step of steps) {
        if (step.kind === 'write') {
          await write(two.db, step.write)
          oracle = undefined
        } else if (step.kind === 'access') {
          await readers[step.client]?.client.change(step.change)
        } else {
          oracle ??= await readOracle(two.db)
          const now = oracle
          await Promise.all(
            step.walks.map(async ({ client, age, moves }) => {
              // Concurrent walks of one client share its integration, but not their positions.
              const reader = { ...(readers[client] as Reader) }
              for (const { move, server } of moves) await read(now, reader, age, move, server)
              readers[client] = reader
            }),
          )
        }
      }
    },
  )
  await holds(property, { runs: 2, thorough: 7 })
})
