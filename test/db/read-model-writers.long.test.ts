import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import postgres, { type Sql } from 'postgres'
import { useTestDatabase } from '../support/hooks.ts'
import { Floors, holds } from '../support/property.ts'
import { differences, START } from './source.ts'

/**
 * Concurrent writers: their transactions are interleaved statement by statement in many orders. A writer that
 * needs a lock waits while the others continue. In the end the read model must equal its source. A writer may
 * get an error and have to try again, but must never leave wrong data.
 */

const ISOLATIONS = ['read committed', 'repeatable read', 'serializable'] as const
type Isolation = (typeof ISOLATIONS)[number]

/** The statements of a writer, one per round trip. The script contains its own begin and commit. */
interface Script {
  isolation: Isolation
  statements: string[]
}

/** The allowed errors: a violated constraint, and a serialization failure above READ COMMITTED. */
function mayFail(code: string, isolation: Isolation): boolean {
  return ['23503', '23505'].includes(code) || (code === '40001' && isolation !== 'read committed')
}

const db = useTestDatabase()
let connections: { sql: Sql; pid: number }[]

beforeAll(async () => {
  // Deadlocks are detected immediately instead of after a second.
  const options = { max: 1, onnotice: () => {}, connection: { deadlock_timeout: 20 } }
  connections = await Promise.all(
    [1, 2, 3].map(async () => {
      const sql = postgres(db.url, options)
      const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
      return { sql, pid: row?.pid ?? 0 }
    }),
  )
})
afterAll(async () => {
  for (const { sql } of connections) await sql.end()
})
beforeEach(async () => {
  await db.sql.unsafe(START)
})

/** How many steps have waited for a lock. */
let waits = 0

/** A writer that has run a part of its script. */
class Writer {
  isDone = false
  outcome = 'committed'
  #running: Promise<void> | undefined
  readonly #steps: string[]

  constructor(
    readonly connection: { sql: Sql; pid: number },
    readonly script: Script,
  ) {
    const [first = '', ...others] = script.statements
    this.#steps = [`begin isolation level ${script.isolation}; ${first}`, ...others, 'commit']
  }

  /**
   * Runs the next step, unless the previous step still waits. Returns when the step is done or waits for a
   * lock.
   */
  async step(): Promise<void> {
    if (this.isDone) return
    this.#running ??= this.#send(this.#steps.shift() ?? '')
    let isWaiting = false
    while (this.#isRunning() && !isWaiting) isWaiting = await this.#isBlocked()
    if (isWaiting) waits++
  }

  /** Waits until the blocked step ends. */
  async settle(): Promise<void> {
    await this.#running
  }

  async #send(step: string): Promise<void> {
    try {
      await this.connection.sql.unsafe(step)
      this.isDone = this.#steps.length === 0
    } catch (error) {
      const { code = '', message } = error as { code?: string; message: string }
      this.isDone = true
      this.outcome = mayFail(code, this.script.isolation) ? code : `${code} ${message}: ${step}`
      await this.connection.sql.unsafe('rollback')
    } finally {
      this.#running = undefined
    }
  }

  #isRunning(): boolean {
    return this.#running !== undefined
  }

  async #isBlocked(): Promise<boolean> {
    const [row] = await db.sql<{ blockers: number }[]>`
      select cardinality(pg_blocking_pids(${this.connection.pid})) as blockers`
    return (row?.blockers ?? 0) > 0
  }
}

/**
 * Runs the scripts in this order of steps; blocked steps move to the end. Returns the outcome of each writer.
 */
async function interleave(scripts: Script[], order: number[]): Promise<string[]> {
  const writers = scripts.map(
    (script, at) => new Writer(connections[at] as (typeof connections)[number], script),
  )
  for (const at of order) await writers[at]?.step()
  while (writers.some(writer => !writer.isDone)) {
    for (const writer of writers) await writer.step()
    // If all remaining writers wait for each other, Postgres cancels one of them.
    const left = writers.filter(writer => !writer.isDone)
    if (left.length > 0) await Promise.race(left.map(writer => writer.settle()))
  }
  return writers.map(writer => writer.outcome)
}

/** The number of orders that are tried, evenly chosen from all orders of the steps. */
const ORDERS = 6

function ordersOf(scripts: Script[]): number[][] {
  const all = orders(scripts.map(({ statements }) => statements.length + 1))
  return all.filter((_, at) => at % Math.ceil(all.length / ORDERS) === 0)
}

function orders(steps: number[]): number[][] {
  if (steps.every(left => left === 0)) return [[]]
  return steps.flatMap((left, at) =>
    left === 0 ? [] : orders(steps.with(at, left - 1)).map(rest => [at, ...rest]),
  )
}

/**
 * Checks that the writers end with allowed outcomes and that the data are right. A TRUNCATE may still end in
 * a deadlock, because it locks its table before any trigger runs.
 */
async function expectRight(scripts: Script[], order: number[]): Promise<string[]> {
  const outcomes = await interleave(scripts, order)
  const hasTruncate = scripts.some(statements => JSON.stringify(statements).includes('truncate'))
  const mayEnd = hasTruncate ? /^(committed|\w{5}|40P01 .*)$/ : /^(committed|\w{5})$/
  for (const outcome of outcomes) expect(outcome).toMatch(mayEnd)
  expect({ order, outcomes, differences: await differences(db.sql) }).toEqual({
    order,
    outcomes,
    differences: [],
  })
  return outcomes
}

const rename = (table: string, id: number) => `update ${table} set name = 'Renamed ' || name where id = ${id}`
const WRITES = {
  'renames the educator': [rename('users', 1)],
  'renames the proctor': [rename('users', 3)],
  'renames the organization': [rename('organizations', 1)],
  'renames an organization without assessments': [rename('organizations', 3)],
  'renames a product': [rename('products', 1)],
  'renames a product that was never taken': [rename('products', 3)],
  'renames a user without assessments': [rename('users', 4)],
  'renames two rows': [rename('users', 1), rename('organizations', 1)],
  'renames the same rows in reverse order': [rename('organizations', 1), rename('users', 1)],
  'renames two users': [rename('users', 1), rename('users', 2)],
  'renames the two users in reverse order': [rename('users', 2), rename('users', 1)],
  'adds a user and renames the educator': [`insert into users values (50, 'Newest')`, rename('users', 1)],
  'renames the educator and adds the same user': [
    rename('users', 1),
    `insert into users values (50, 'Newest')`,
  ],
  'adds an assessment': [
    `insert into assessments values (20, 1, 1, 1, '2024-03-10T05:00Z')`,
    `insert into assessment_parts values (20, 20, 1, null, null, 3)`,
  ],
  'adds an assessment, its parts first': [
    `set constraints all deferred; insert into assessment_parts values (31, 30, 1, 'Part', now(), 3)`,
    `insert into assessments values (30, 1, 1, 1, '2024-03-10T05:00Z')`,
  ],
  'adds the first assessment of a user': [
    `insert into assessments values (40, 4, 3, 3, '2024-03-10T05:00Z')`,
    `insert into assessment_parts values (40, 40, 1, null, null, 4)`,
  ],
  'adds parts': [
    `insert into assessment_parts values (13, 2, 3, 'Three', now(), 1), (14, 3, 1, 'First', now(), 3)`,
  ],
  'adds a part to an assessment without parts': [
    `insert into assessment_parts values (3, 3, 1, null, null, 3)`,
  ],
  'moves an assessment without parts': [
    `update assessments set organization_id = 3, user_id = 4 where id = 3`,
  ],
  'moves an assessment to another user and organization': [
    `update assessments set user_id = 4, organization_id = 2 where id = 1`,
  ],
  'moves a part': [`update assessment_parts set assessment_id = 3, position = 7 where id = 12`],
  'adds a part under a free id': [`insert into assessment_parts values (100, 1, 9, 'Part', now(), 3)`],
  'adds an assessment under the same id': [`insert into assessments values (100, 2, 2, 2, now())`],
  'deletes a part': [`delete from assessment_parts where id = 11`],
  'deletes an assessment': [`delete from assessments where id = 2`],
  'deletes all parts': ['truncate assessment_parts'],
  'changes the time zone': [`update export_state set time_zone = 'America/New_York'`],
  'rolls back to a savepoint': [
    'savepoint here',
    rename('users', 2),
    'rollback to savepoint here',
    rename('users', 1),
  ],
}
type Write = keyof typeof WRITES
const NAMES = Object.keys(WRITES) as Write[]

/** Above READ COMMITTED the first statement fixes the snapshot, so the script begins with a read. */
function script(write: Write, isolation: Isolation): Script {
  const look = isolation === 'read committed' ? [] : ['select count(*) from users']
  return { isolation, statements: [...look, ...WRITES[write]] }
}

describe('concurrent writers leave the read model equal to its source', () => {
  const trio = (['renames the educator', 'renames the organization', 'adds an assessment'] as const).map(
    write => script(write, 'read committed'),
  )

  test(`if they rename a user, rename an organization, and add an assessment of both, in up to ${ORDERS} orders`, async () => {
    for (const order of ordersOf(trio)) {
      await db.sql.unsafe(START)
      expect(await expectRight(trio, order)).toEqual(['committed', 'committed', 'committed'])
      const [row] = await db.sql`select document from export_records where id = 20`
      expect(row?.document).toContain('"name":"Renamed Ana"')
      expect(row?.document).toContain('"organization_name":"Renamed Lakeside"')
    }
  })

  const CROSSED: [Write, Write][] = [
    ['renames a user without assessments', 'adds the first assessment of a user'],
    ['renames an organization without assessments', 'adds the first assessment of a user'],
    ['renames a product that was never taken', 'adds the first assessment of a user'],
    ['moves an assessment without parts', 'adds a part to an assessment without parts'],
    ['adds an assessment under the same id', 'adds a part under a free id'],
    ['renames two rows', 'renames the same rows in reverse order'],
    ['renames two users', 'renames the two users in reverse order'],
    ['adds a user and renames the educator', 'renames the educator and adds the same user'],
    ['deletes an assessment', 'adds parts'],
    ['changes the time zone', 'adds an assessment'],
  ]

  describe.each(['read committed', 'repeatable read'] as const)(
    `with %s, in up to ${ORDERS} orders,`,
    isolation => {
      test.each(CROSSED)('if one %s and the other %s', async (one, other) => {
        const scripts = [script(one, isolation), script(other, isolation)]
        for (const order of ordersOf(scripts)) {
          await db.sql.unsafe(START)
          await expectRight(scripts, order)
        }
      })
    },
  )

  test('for two or three random writers, at any isolation levels, in any order', async () => {
    const choice = fc.tuple(fc.constantFrom(...NAMES), fc.constantFrom(...ISOLATIONS))
    const floors = new Floors({ 'a writer that waited': 0.2, 'two commits': 0.15 })
    const property = fc.asyncProperty(
      fc.uniqueArray(choice, { minLength: 2, maxLength: 3, selector: ([write]) => write }),
      fc.array(fc.nat(2), { minLength: 12, maxLength: 12 }),
      async (choices, order) => {
        await db.sql.unsafe(START)
        const scripts = choices.map(([write, isolation]) => script(write, isolation))
        const known = waits
        const outcomes = await expectRight(
          scripts,
          order.map(at => at % scripts.length),
        )
        if (waits > known) floors.reached('a writer that waited')
        if (outcomes.filter(outcome => outcome === 'committed').length > 1) floors.reached('two commits')
      },
    )
    await holds(property, { runs: 15, floors })
  })
})
