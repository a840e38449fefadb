import { afterAll, afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { UsageFailure } from '../../src/errors.ts'
import { cleanUp, emptyFolder } from '../support/executable.ts'
import { holds } from '../support/property.ts'
import {
  ANY_CREDENTIALS,
  type Front,
  json,
  type Pulled,
  type PullOptions,
  pageOf,
  pullFrom,
  record,
  startServer,
  startStub,
  token,
} from '../support/pull.ts'

setDefaultTimeout(60_000)

/** What the service has; a test may change it. */
const records: string[] = []
let stub: Front
let folder: string

beforeEach(() => {
  stub = startStub(records)
  folder = emptyFolder()
  mkdirSync(join(folder, 'applied'))
  serve(...Array.from({ length: 250 }, (_, id) => record(id)))
})
afterEach(() => stub.stop())
afterAll(cleanUp)

function serve(...lines: string[]): void {
  records.splice(0, records.length, ...lines)
}

const at = (name: string) => join(folder, name)

interface Night extends PullOptions {
  previous?: string
  out?: string
  changes?: string
  maxRemoved?: { percent: number } | { count: number }
  credentials?: { clientId: string; clientSecret: string }
}

/** Pulls and compares. Files are named within the folder of the test. */
async function night(options: Night = {}): Promise<Pulled> {
  const { previous = 'applied/copy.ndjson', out = 'copy.ndjson', changes = 'changes.ndjson' } = options
  const { maxRemoved = { percent: 10 }, credentials = ANY_CREDENTIALS, ...others } = options
  return await pullFrom(stub.baseUrl, credentials, at(out), {
    comparison: {
      previous: previous.startsWith('/') ? previous : at(previous),
      changes: at(changes),
      maxRemoved,
    },
    ...others,
  })
}

/** The first night: everything is new. Leaves the file where the next night finds it. */
async function begin(): Promise<void> {
  await night({ previous: '/dev/null', out: 'applied/copy.ndjson', changes: 'first.ndjson' })
}

test('a pull that replaces the changes but not the output says which file was replaced', async () => {
  await begin()
  // Another process replaces the output while the page is read.
  const service = startServer((_, url) => {
    if (url.pathname === '/oauth/token') return token()
    writeFileSync(at('other'), '')
    renameSync(at('other'), at('copy.ndjson'))
    return json(pageOf(records.slice(0, 1), 1, 0))
  })
  try {
    await expect(
      pullFrom(service.baseUrl, ANY_CREDENTIALS, at('copy.ndjson'), {
        comparison: {
          previous: at('applied/copy.ndjson'),
          changes: at('changes.ndjson'),
          maxRemoved: { percent: 100 },
        },
      }),
    ).rejects.toThrow(
      `another process is writing ${at('copy.ndjson')}: it was not replaced; ${at('changes.ndjson')} was replaced: run the same command again`,
    )
  } finally {
    await service.stop()
  }
})

const linesOf = (name: string) => readFileSync(at(name), 'utf8').split('\n').slice(0, -1)

const added = (line: string) => `{"change":"added","id":${idOf(line)},"record":${line}}`
const changed = (line: string) => added(line).replace('added', 'changed')
const removed = (id: number | bigint) => `{"change":"removed","id":${id}}`
const idOf = (line: string) => /^\{"id":(\d+)/.exec(line)?.[1]

describe('the changes since the previous file', () => {
  test('are its added, changed and removed records', async () => {
    await begin()
    const renamed = record(7, 'A new name')
    const [backDated, late] = [record(9001), record(9002)]
    serve(
      backDated,
      ...records.filter(line => ![3, 7, 249].map(String).includes(idOf(line) ?? '')).toSpliced(6, 0, renamed),
      late,
    )
    const { result } = await night()
    expect(result).toMatchObject({ records: 250, changes: { added: 2, changed: 1, removed: 2 } })
    expect(linesOf('changes.ndjson')).toEqual([
      added(backDated),
      changed(renamed),
      added(late),
      removed(3),
      removed(249),
    ])
    expect(linesOf('copy.ndjson')).toEqual(records)
  })

  test('are all records as added, if the previous file is /dev/null', async () => {
    const { result } = await night({ previous: '/dev/null' })
    expect(result.changes).toEqual({ added: 250, changed: 0, removed: 0 })
    expect(linesOf('changes.ndjson')).toEqual(records.map(added))
  })

  test('are none, if nothing has changed or only the order', async () => {
    await begin()
    expect((await night()).result.changes).toEqual({ added: 0, changed: 0, removed: 0 })
    expect(linesOf('changes.ndjson')).toEqual([])
    serve(...records.toReversed())
    const { result } = await night({ query: { sort: 'user_name', order: 'DESC' } })
    expect(result.changes).toEqual({ added: 0, changed: 0, removed: 0 })
  })

  test('keep ids above 2^53 exact', async () => {
    const ids = [2n ** 53n + 1n, 2n ** 63n - 2n, 2n ** 63n - 1n]
    serve(...ids.slice(0, 2).map(id => record(id)))
    await begin()
    serve(record(ids[0] as bigint, 'Renamed'), record(ids[2] as bigint))
    await night()
    expect(linesOf('changes.ndjson')).toEqual([
      changed(record(ids[0] as bigint, 'Renamed')),
      added(record(ids[2] as bigint)),
      removed(ids[1] as bigint),
    ])
  })

  test('turn the previous records into the present ones, whatever has changed', async () => {
    const some = fc.uniqueArray(
      fc.record({ id: fc.nat(40), name: fc.constantFrom('A', 'B "},{"id":1', 'Zoë') }),
      {
        selector: ({ id }) => id,
        maxLength: 30,
      },
    )
    const linesIn = (list: { id: number; name: string }[]) => list.map(({ id, name }) => record(id, name))
    await holds(
      fc.asyncProperty(some, some, async (before, after) => {
        serve(...linesIn(before))
        await begin()
        serve(...linesIn(after))
        await night({ maxRemoved: { percent: 100 } })
        const copy = new Map(linesIn(before).map(line => [idOf(line), line]))
        const ids = new Set<string>()
        for (const line of linesOf('changes.ndjson')) {
          const [, change, id = ''] = /^\{"change":"(\w+)","id":(\d+)/.exec(line) ?? []
          expect(ids).not.toContain(id)
          ids.add(id)
          expect([id, copy.has(id)]).toEqual([id, change !== 'added'])
          if (change === 'removed') copy.delete(id)
          else copy.set(id, line.slice(line.indexOf('"record":') + 9, -1))
        }
        expect([...copy.values()].sort()).toEqual(records.toSorted())
      }),
      { runs: 20 },
    )
  })

  test('are private if they are new, and otherwise keep the mode of the file that they replace', async () => {
    await begin()
    const modeOf = (name: string) => statSync(at(name)).mode & 0o777
    expect(modeOf('first.ndjson')).toBe(0o600)
    writeFileSync(at('changes.ndjson'), 'earlier', { mode: 0o640 })
    await night()
    expect(modeOf('changes.ndjson')).toBe(0o640)
  })
})

const ANEW = '; to begin anew, with an empty copy, give --previous /dev/null'

/** The error of a night that is refused, which changes no file and, as a rule, requests nothing. */
async function refusal(options: Night = {}, requests = 0): Promise<string> {
  writeFileSync(at('copy.ndjson'), 'earlier')
  writeFileSync(at('changes.ndjson'), 'earlier changes')
  stub.lists = []
  const error = await night(options).then(
    () => undefined,
    (error: Error) => error,
  )
  expect([readFileSync(at('copy.ndjson'), 'utf8'), readFileSync(at('changes.ndjson'), 'utf8')]).toEqual([
    'earlier',
    'earlier changes',
  ])
  expect(readdirSync(folder).filter(name => name.endsWith('.draft'))).toEqual([])
  expect(stub.lists.length).toBe(requests)
  return String(error?.message).replaceAll(`${folder}/`, '')
}

describe('a previous file', () => {
  test('that is not there is named, with what to do', async () => {
    expect(await refusal()).toBe(
      `there is no applied/copy.ndjson: name the FILE of the last pull as --previous${ANEW}`,
    )
  })

  test('is found behind a symbolic link', async () => {
    await begin()
    symlinkSync(at('applied/copy.ndjson'), at('link.ndjson'))
    expect((await night({ previous: 'link.ndjson' })).result.changes?.added).toBe(0)
  })

  test.each<[what: string, damage: (text: string) => string, reason: string]>([
    ['cut within a line', text => text.slice(0, -9), 'its last line has no end'],
    ['without its last line feed', text => text.slice(0, -1), 'its last line has no end'],
    ['with a line that is no record', text => `{"id":1}\n${text}`, 'seid of a record is no text or null'],
    ['with zeros in the middle', text => text.replace('Name 7', '\0'.repeat(6)), 'it is not JSON'],
    ['that is CSV', () => 'id,seid\n1,\n', 'it is not JSON'],
  ])('%s is refused', async (_, damage, reason) => {
    await begin()
    const path = at('applied/copy.ndjson')
    writeFileSync(path, damage(readFileSync(path, 'utf8')))
    expect(await refusal()).toBe(
      `applied/copy.ndjson is no file of axport pull, or is damaged (${reason})${ANEW}`,
    )
  })

  test('cut within a character after a line feed is refused', async () => {
    await begin()
    const path = at('applied/copy.ndjson')
    writeFileSync(path, Buffer.concat([readFileSync(path), Buffer.of(0xe2, 0x82)]))
    expect(await refusal()).toMatch(
      /^applied\/copy\.ndjson is no file of axport pull, or is damaged \(ERR_ENCODING_INVALID_ENCODED_DATA\)/,
    )
  })

  test.each([
    ['the output', { previous: 'copy.ndjson' }],
    ['the changes', { changes: 'applied/copy.ndjson' }],
    ['the output', { out: 'changes.ndjson' }],
  ])('and %s must be different files', async (_, options) => {
    await begin()
    await night({ previous: '/dev/null' })
    symlinkSync(at('copy.ndjson'), at('link.ndjson'))
    const before = readFileSync(at('copy.ndjson'))
    for (const given of [options, { ...options, ...('previous' in options && { previous: 'link.ndjson' }) }])
      await expect(night(given)).rejects.toThrow(UsageFailure)
    expect(readFileSync(at('copy.ndjson'))).toEqual(before)
  })
})

describe('removals', () => {
  const without = (count: number) => serve(...records.slice(count))

  test('of more than a tenth are refused, with the option that allows them once', async () => {
    await begin()
    without(26)
    expect(await refusal({}, 3)).toBe(
      'nothing was written: 26 of 250 assessments would be removed, more than 10%: ask the operator whether the scope has changed; to remove them once: the same command with --max-removed 26',
    )
    expect((await night({ maxRemoved: { count: 26 } })).result.changes?.removed).toBe(26)
    expect(linesOf('changes.ndjson')).toEqual(Array.from({ length: 26 }, (_, id) => removed(id)))
  })

  test('of exactly a tenth, and always of ten, are no reason', async () => {
    await begin()
    without(25)
    expect((await night()).result.changes?.removed).toBe(25)
    serve(...records.slice(0, 10))
    await begin()
    serve()
    const { result, notes } = await night()
    expect(result.changes).toEqual({ added: 0, changed: 0, removed: 10 })
    expect(notes).toEqual([expect.stringContaining('no assessment matches')])
  })

  test.each([
    [{ count: 24 }, 25],
    [{ count: 0 }, 1],
    [{ percent: 9 }, 23],
  ])('are limited to %j', async (maxRemoved, count) => {
    await begin()
    without(count)
    expect(await refusal({ maxRemoved }, 3)).toContain(
      `: ${count} of 250 assessments would be removed, more than `,
    )
  })

  test('of everything fail before with failIfEmpty', async () => {
    await begin()
    serve()
    expect(await refusal({ failIfEmpty: true, maxRemoved: { percent: 100 } }, 1)).toStartWith(
      'no assessment matches (--fail-if-empty)',
    )
  })
})

test('the changes are in place before the output', async () => {
  await begin()
  records[5] = record(5, 'Renamed')
  // Nothing can replace a folder.
  stub.lists = []
  stub.hook = n => n === 3 && void mkdirSync(at('copy.ndjson'))
  await expect(night()).rejects.toThrow('cannot write ')
  expect(linesOf('changes.ndjson')).toEqual([changed(records[5] as string)])
  expect(readdirSync(folder).sort()).toEqual(['applied', 'changes.ndjson', 'copy.ndjson', 'first.ndjson'])
})

test('data that change while they are read are compared anew, with the same result', async () => {
  await begin()
  serve(...records.slice(2), record(777))
  // The first record is removed after its page was read.
  stub.lists = []
  stub.hook = n => n === 2 && void records.shift()
  const { result } = await night()
  expect(result).toEqual({ records: 248, restarts: 1, changes: { added: 1, changed: 0, removed: 3 } })
  expect(linesOf('changes.ndjson')).toEqual([added(record(777)), ...[0, 1, 2].map(removed)])
})
