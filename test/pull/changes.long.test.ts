import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from 'bun:test'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import fc from 'fast-check'
import { cleanUp } from '../support/executable.ts'
import { assessment, type Line, ORGANIZATION, PRODUCT, removal, world } from '../support/fixtures.ts'
import { holds } from '../support/property.ts'
import { documents, type Front, linesOf, outputIn, pullFrom, startFront } from '../support/pull.ts'
import { authorize, load, startService, type TestService } from '../support/service.ts'

setDefaultTimeout(60_000)

/** The records at the start of each test, one completed on each day. */
const COUNT = 230
const FIRST_ID = 9000
const DAYS = Array.from({ length: COUNT }, (_, day) => day)

let service: TestService
let front: Front
let client: { clientId: string; clientSecret: string }

beforeAll(async () => {
  service = await startService()
  await load(service.sql, world())
  client = await authorize(service, [ORGANIZATION], [PRODUCT])
})
afterAll(async () => {
  await service?.close()
  await cleanUp()
})
beforeEach(async () => {
  front = startFront(service)
  if (isChanged) await refill()
})
afterEach(() => front.stop())

let isChanged = true

async function refill(): Promise<void> {
  isChanged = false
  await service.sql`truncate assessments, assessment_parts`
  await load(
    service.sql,
    DAYS.map(day => completed(FIRST_ID + day, day)),
  )
}

/** An assessment completed this many days after the first one. */
function completed(id: number, day: number): Line {
  return assessment(id, { certified_at: new Date(Date.UTC(2020, 0, 1, 12) + day * 86_400_000).toISOString() })
}
function change(...lines: Line[]): Promise<void> {
  isChanged = true
  return load(service.sql, lines)
}
const removed = (id: number) => removal('assessment', id)

/** A change during the reading of a list, whether the list must be read again, and its import lines. */
const CHANGES: [what: string, startsOver: boolean, Line[]][] = [
  ['a record is added to the pages already read', true, [completed(1, 5)]],
  ['a record is removed from the pages already read', true, [removed(FIRST_ID + 5)]],
  [
    'a record is removed, and another is added at the end',
    true,
    [removed(FIRST_ID + 5), completed(1, COUNT + 5)],
  ],
  ['a record moves from the pages already read to the end', true, [completed(FIRST_ID + 5, COUNT + 5)]],
  ['a record moves from the end to the pages already read', true, [completed(FIRST_ID + COUNT - 5, 5)]],
  ['the last record already read is removed', true, [removed(FIRST_ID + 198)]],
  ['all records are removed', true, DAYS.map(day => removed(FIRST_ID + day))],
  ['records are added at the end', false, [completed(1, COUNT + 5), completed(2, COUNT + 6)]],
  ['records are removed at the end', false, [removed(FIRST_ID + COUNT - 1), removed(FIRST_ID + COUNT - 10)]],
  [
    'a record changes and keeps its position',
    false,
    [{ ...completed(FIRST_ID + 5, 5), legacy_record: true }],
  ],
]

const idOf = (text: string) => (JSON.parse(text) as { id: number }).id

describe('if, while a list is read,', () => {
  test.each(CHANGES)("%s, the output equals the service's final data", async (_, startsOver, changes) => {
    // The third request is sent while the second page is being read.
    front.hook = n => (n === 3 ? change(...changes) : undefined)
    const out = outputIn()
    const { result, notes } = await pullFrom(front.baseUrl, client, out)
    const expected = await documents(service)
    expect(linesOf(out)).toEqual(expected)
    expect(result).toEqual({ records: expected.length, restarts: startsOver ? 1 : 0 })
    if (startsOver) expect(notes[0]).toMatch(/^the data changed \(.*\): starting over$/)
    else if (expected.length !== COUNT)
      expect(notes).toEqual([`${COUNT} assessments became ${expected.length} meanwhile; all of these are in`])
  })

  test("random changes happen before random pages, the output has the ids of the service's final data", async () => {
    const known = fc.integer({ min: FIRST_ID, max: FIRST_ID + COUNT - 1 })
    const day = fc.nat(COUNT + 20)
    const anyChange = fc.oneof(
      fc.tuple(fc.integer({ min: 1, max: 8000 }), day).map(([id, day]) => completed(id, day)),
      fc.tuple(known, day).map(([id, day]) => completed(id, day)),
      known.map(removed),
    )
    const changes = fc.uniqueArray(fc.record({ before: fc.integer({ min: 2, max: 8 }), line: anyChange }), {
      maxLength: 3,
      selector: ({ before }) => before,
    })
    await holds(
      fc.asyncProperty(changes, async changes => {
        await refill()
        const some = startFront(service)
        some.hook = async n => {
          for (const { before, line } of changes) if (before === n) await change(line)
        }
        const out = outputIn()
        await pullFrom(some.baseUrl, client, out).finally(some.stop)
        // A record that keeps its place may change after its page was read, and no client can notice that.
        expect(linesOf(out).map(idOf).sort()).toEqual((await documents(service)).map(idOf).sort())
      }),
      { runs: 6 },
    )
  })

  test('the data change five times, the pull fails and keeps the earlier output', async () => {
    front.hook = (_, request) =>
      request.url.includes('offset=99&') || request.url.endsWith('offset=99')
        ? change(removed(next++))
        : undefined
    let next = FIRST_ID
    const out = outputIn()
    writeFileSync(out, 'earlier')
    await expect(pullFrom(front.baseUrl, client, out)).rejects.toThrow(
      /^the data changed \(.*\) in each of 5 tries: pull when nothing is imported$/,
    )
    expect(readFileSync(out, 'utf8')).toBe('earlier')
    expect(readdirSync(dirname(out))).toEqual(['out.ndjson'])
  })
})
