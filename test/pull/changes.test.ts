import { Database } from 'bun:sqlite'
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
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import fc from 'fast-check'
import { IncompleteFailure } from '../../src/errors.ts'
import { PartialFile } from '../../src/pull/partial-file.ts'
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
    expect(result).toEqual({ records: expected.length, resumed: 0, restarts: startsOver ? 1 : 0 })
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
      { runs: 4, thorough: 12 },
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
    expect(existsSync(`${out}.partial`)).toBe(false)
    expect(existsSync(`${out}.partial.state`)).toBe(false)
  })
})

const ASKED = { address: 'a', client: 'c', filters: 'f', order: 'o' }

describe('an interrupted pull', () => {
  /** Runs a pull that ends after three pages. */
  async function brokenOff(out = outputIn()): Promise<string> {
    front.hook = n => (n > 2 ? new Response('', { status: 503 }) : undefined)
    await expect(pullFrom(front.baseUrl, client, out, { retryForMs: 1 })).rejects.toThrow(
      'answered 503; gave up after 1 attempt; 199 of 230 assessments are kept: run the same command again to go on',
    )
    front.hook = () => {}
    front.lists = []
    return out
  }

  test('continues at its last record, and reads only that record twice', async () => {
    const out = await brokenOff()
    const { result, notes } = await pullFrom(front.baseUrl, client, out)
    expect(result).toEqual({ records: COUNT, resumed: 199, restarts: 0 })
    expect(notes).toEqual(['going on after 199 assessments of an interrupted run'])
    expect(front.lists.map(query => new URLSearchParams(query).get('offset'))).toEqual(['198'])
    expect(linesOf(out)).toEqual(await documents(service))
  })

  test.each([
    [503, 'the failure is temporary', true],
    [403, 'the cause was repaired', false],
  ])('can continue after a %d, if %s', async (status, _, isPassing) => {
    const out = await brokenOff()
    front.hook = () => new Response('', { status })
    const ended = pullFrom(front.baseUrl, client, out, { retryForMs: 1 })
    const error = await ended.catch((error: Error) => error)
    expect([error instanceof IncompleteFailure, String(error)]).toEqual([
      isPassing,
      expect.stringContaining('199 of 230 assessments are kept'),
    ])
    front.hook = () => {}
    expect((await pullFrom(front.baseUrl, client, out)).result.resumed).toBe(199)
  })

  test('keeps the earlier output, and beside it files for the owner only', async () => {
    const out = outputIn()
    writeFileSync(out, 'earlier', { mode: 0o640 })
    await brokenOff(out)
    expect(readFileSync(out, 'utf8')).toBe('earlier')
    expect(linesOf(`${out}.partial`)).toEqual((await documents(service)).slice(0, 199))
    for (const name of ['.partial', '.partial.state']) expect(statSync(out + name).mode & 0o777).toBe(0o600)
    await pullFrom(front.baseUrl, client, out)
    expect(readdirSync(dirname(out))).toEqual(['out.ndjson'])
    expect(statSync(out).mode & 0o777).toBe(0o640)
  })

  test('is kept if the next pull ends before it has read the state', async () => {
    const out = await brokenOff()
    new PartialFile(out, { ...ASKED, filters: 'others' }).leave()
    expect((await pullFrom(front.baseUrl, client, out)).result.resumed).toBe(199)
  })

  test('is kept if the next pull ends while it reads the partial file', async () => {
    const out = outputIn()
    const [line = ''] = await documents(service)
    const earlier = new PartialFile(out, ASKED)
    earlier.position.add(1)
    earlier.position.count = 2
    earlier.append(Buffer.from(`${line}\n`))
    earlier.leave()
    const next = new PartialFile(out, ASKED)
    expect(await next.resume({ onProgress: () => next.leave(), onNote() {} })).toBe(0)
    expect(linesOf(`${out}.partial`)).toEqual([line])
    const last = new PartialFile(out, ASKED)
    expect(await last.resume({ onProgress() {}, onNote() {} })).toBe(1)
    last.leave()
  })

  test('is removed if it has no whole record, and the next pull reads none either', async () => {
    const out = outputIn()
    const earlier = new PartialFile(out, ASKED)
    earlier.position.add(1)
    earlier.position.count = 2
    earlier.append(Buffer.from('{"id":'))
    earlier.leave()
    const next = new PartialFile(out, ASKED)
    expect(await next.resume({ onProgress() {}, onNote() {} })).toBe(0)
    next.leave()
    expect([`${out}.partial`, `${out}.partial.state`].filter(existsSync)).toEqual([])
  })

  test('is removed if not even its first records can be written', () => {
    const out = outputIn()
    const full = new PartialFile(out, ASKED)
    full.position.add(1)
    full.position.count = 2
    const lines = new Proxy(new Uint8Array(1), {
      get: () => {
        throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
      },
    })
    expect(() => full.append(lines)).toThrow('no space is left')
    full.leave()
    expect([`${out}.partial`, `${out}.partial.state`].filter(existsSync)).toEqual([])
  })

  test('continues in another format', async () => {
    const out = await brokenOff(outputIn('out.csv'))
    const { result } = await pullFrom(front.baseUrl, client, out, { format: 'csv' })
    expect(result).toEqual({ records: COUNT, resumed: 199, restarts: 0 })
    expect(linesOf(out).length).toBe(1 + COUNT)
  })

  test.each([
    ['one more record', () => change(completed(1, COUNT + 5))],
    ['equally many records in another order', () => change(removed(FIRST_ID), completed(1, COUNT + 5))],
  ])('starts over if the service has %s', async (_, happens) => {
    const out = await brokenOff()
    await happens()
    const { result, notes } = await pullFrom(front.baseUrl, client, out)
    const expected = await documents(service)
    expect(linesOf(out)).toEqual(expected)
    expect(result).toEqual({ records: expected.length, resumed: 0, restarts: 1 })
    expect(notes[1]).toMatch(/starting over$/)
  })

  test('is kept if another address was given by mistake', async () => {
    const out = await brokenOff()
    await expect(pullFrom('http://127.0.0.1:1', client, out, { retryForMs: 1 })).rejects.toThrow(
      /^nothing listens at http:\/\/127.0.0.1:1; gave up after 1 attempt$/,
    )
    expect((await pullFrom(front.baseUrl, client, out)).result.resumed).toBe(199)
  })

  test.each([
    ['other filters', { query: { filter: { start_date: ['2020-01-02'] } } }],
    ['another order', { query: { order: 'DESC' as const } }],
    ['other filters and another order', { query: { filter: { seids: ['1'] }, sort: 'user_name' as const } }],
  ])('is not continued with %s, which a note says', async (difference, options) => {
    const out = await brokenOff()
    const { result, notes } = await pullFrom(front.baseUrl, client, out, options)
    expect(result.resumed).toBe(0)
    expect(notes).toEqual([`what an interrupted run has left is for ${difference}: everything is read anew`])
    expect(front.lists[0]).toEndWith('&offset=0')
  })

  test('is continued with the same values of a filter in another order', async () => {
    const out = outputIn()
    const filter = (ids: number[]) => ({ query: { filter: { organization_ids: ids.map(String) } } })
    front.hook = n => (n > 2 ? new Response('', { status: 503 }) : undefined)
    const ended = pullFrom(front.baseUrl, client, out, { ...filter([10, 20]), retryForMs: 1 })
    await expect(ended).rejects.toThrow('199 of 230')
    front.hook = () => {}
    expect((await pullFrom(front.baseUrl, client, out, filter([20, 10, 20]))).result.resumed).toBe(199)
  })

  test('is not continued after six hours', async () => {
    const out = await brokenOff()
    const state = new Database(`${out}.partial.state`)
    const [row] = state.query<{ state: string }, []>('select state from run').all()
    const { started, ...rest } = JSON.parse(row?.state as string)
    state.run('update run set state = ?', [JSON.stringify({ ...rest, started: started - 6 * 3_600_000 })])
    state.close()
    const { result, notes } = await pullFrom(front.baseUrl, client, out)
    expect(result).toEqual({ records: COUNT, resumed: 0, restarts: 0 })
    expect(notes).toEqual([
      'what an interrupted run has left is older than six hours: everything is read anew',
    ])
  })

  test('stores no filter and no credential', async () => {
    const out = outputIn()
    front.hook = n => (n > 1 ? new Response('', { status: 503 }) : undefined)
    const query = { filter: { search: ['Reading'] } }
    await pullFrom(front.baseUrl, client, out, { query, retryForMs: 1 }).catch(() => {})
    const state = readFileSync(`${out}.partial.state`, 'latin1')
    for (const word of ['Reading', client.clientId, client.clientSecret]) expect(state).not.toContain(word)
  })

  test.each([
    ['truncated in the middle of a line', (text: string) => text.slice(0, -5), 198],
    ['with zeros at its end', (text: string) => `${text}\0\0\0\n\0\0`, 199],
    ['with a line that is not a record', (text: string) => text.replace('\n', '\n{"id":5}\n'), 1],
    ['with zeros in the middle', (text: string) => text.replace(/(?<=\n.{200}).{9}/, '\0'.repeat(9)), 1],
    ['empty', () => '', 0],
    ['with a record twice', (text: string) => text + text.slice(text.lastIndexOf('{"id"')), 200],
  ])('continues after the valid lines of a partial file %s', async (_, damage, good) => {
    const out = await brokenOff()
    writeFileSync(`${out}.partial`, damage(readFileSync(`${out}.partial`, 'utf8')))
    const { notes } = await pullFrom(front.baseUrl, client, out)
    expect(linesOf(out)).toEqual(await documents(service))
    if (good > 0) expect(notes[0]).toBe(`going on after ${good} assessments of an interrupted run`)
  })
})
