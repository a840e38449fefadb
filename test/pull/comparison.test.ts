import { afterAll, afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { UsageFailure } from '../../src/errors.ts'
import { compressionOf } from '../../src/pull/formats.ts'
import { cleanUp, emptyFolder } from '../support/executable.ts'
import { holds } from '../support/property.ts'
import {
  ANY_CREDENTIALS,
  type Front,
  type Pulled,
  type PullOptions,
  pullFrom,
  record,
  startStub,
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
    compression: compressionOf(out),
    comparison: {
      previous: previous.startsWith('/') ? previous : at(previous),
      changes: at(changes),
      maxRemoved,
    },
    ...others,
  })
}

/** The first night: everything is new. Leaves the file where the next night finds it. */
async function begin(name = 'copy.ndjson'): Promise<void> {
  await night({ previous: '/dev/null', out: `applied/${name}`, changes: 'first.ndjson' })
}

const unpack = { gz: Bun.gunzipSync, zst: Bun.zstdDecompressSync, plain: (bytes: Buffer) => bytes }

function linesOf(name: string): string[] {
  const text = Buffer.from(unpack[compressionOf(name) ?? 'plain'](readFileSync(at(name)))).toString()
  return text.split('\n').slice(0, -1)
}

const added = (line: string) => `{"change":"added","id":${idOf(line)},"record":${line}}`
const changed = (line: string) => added(line).replace('added', 'changed')
const removed = (id: number | bigint) => `{"change":"removed","id":${id}}`
const idOf = (line: string) => /^\{"id":(\d+)/.exec(line)?.[1]

describe('the changes since the previous file', () => {
  test.each([
    ['copy.ndjson', 'changes.ndjson'],
    ['copy.ndjson.gz', 'changes.ndjson.zst'],
    ['copy.jsonl.zst', 'changes.jsonl.gz'],
  ])('are its added, changed and removed records, from %s to %s', async (name, changes) => {
    await begin(name)
    const renamed = record(7, 'A new name')
    const [backDated, late] = [record(9001), record(9002)]
    serve(
      backDated,
      ...records.filter(line => ![3, 7, 249].map(String).includes(idOf(line) ?? '')).toSpliced(6, 0, renamed),
      late,
    )
    const { result } = await night({ previous: `applied/${name}`, out: name, changes })
    expect(result).toMatchObject({ records: 250, changes: { added: 2, changed: 1, removed: 2 } })
    expect(linesOf(changes)).toEqual([
      added(backDated),
      changed(renamed),
      added(late),
      removed(3),
      removed(249),
    ])
    expect(linesOf(name)).toEqual(records)
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
      { runs: 20, thorough: 40 },
    )
  })

  test('are private if they are new, and otherwise keep the mode of the file that they replace', async () => {
    await begin()
    const modeOf = (name: string) => statSync(at(name)).mode & 0o777
    expect(['first.ndjson', 'applied/copy.ndjson.pull'].map(modeOf)).toEqual([0o600, 0o600])
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

  test.each([
    ['other filters', { query: { filter: { organization_ids: ['4'] } } }],
    ['another client id', { credentials: { ...ANY_CREDENTIALS, clientId: 'other' } }],
    [
      'another client id and other filters',
      { credentials: { ...ANY_CREDENTIALS, clientId: 'other' }, query: { filter: { seids: ['7'] } } },
    ],
  ])('with %s is refused before the first request', async (difference, options) => {
    await begin()
    expect(await refusal(options)).toBe(
      `applied/copy.ndjson is for ${difference}, so it does not show what was removed${ANEW}`,
    )
  })

  test('of another address is refused', async () => {
    await begin()
    await stub.stop()
    stub = startStub(records)
    expect(await refusal()).toStartWith('applied/copy.ndjson is for another address, ')
  })

  test('of the same integration is compared after its secret was rotated', async () => {
    await begin()
    const credentials = { ...ANY_CREDENTIALS, clientSecret: 'rotated' }
    expect((await night({ credentials })).result.changes).toEqual({ added: 0, changed: 0, removed: 0 })
  })

  test('of filters is compared with the same values in another order', async () => {
    const filter = (...ids: string[]) => ({ query: { filter: { organization_ids: ids } } })
    await night({ previous: '/dev/null', out: 'applied/copy.ndjson', ...filter('4', '10', '4') })
    expect((await night(filter('10', '4'))).result.changes?.removed).toBe(0)
  })

  test('without its companion, or with a damaged one, is refused', async () => {
    await begin()
    const companion = at('applied/copy.ndjson.pull')
    for (const text of ['', '{', '7', 'null', '{"records":250}', '{"asked":null}']) {
      writeFileSync(companion, text)
      expect(await refusal()).toBe(`applied/copy.ndjson.pull is damaged${ANEW}`)
    }
    rmSync(companion)
    expect(await refusal()).toBe(
      `beside applied/copy.ndjson there is no applied/copy.ndjson.pull, which pull --changes leaves there: move both together${ANEW}`,
    )
  })

  test('is found behind a symbolic link, with its companion', async () => {
    await begin()
    symlinkSync(at('applied/copy.ndjson'), at('link.ndjson'))
    expect((await night({ previous: 'link.ndjson' })).result.changes?.added).toBe(0)
  })

  /** Damages the previous file in its folder. */
  const DAMAGES: [what: string, name: string, damage: (path: string) => void][] = [
    ['cut after a line', 'copy.ndjson', path => cut(path, text => text.slice(0, text.indexOf('\n') + 1))],
    ['cut within a line', 'copy.ndjson', path => cut(path, text => text.slice(0, -9))],
    ['without its last line feed', 'copy.ndjson', path => cut(path, text => text.slice(0, -1))],
    ['emptied', 'copy.ndjson', path => cut(path, () => '')],
    ['with a record of another one', 'copy.ndjson', path => cut(path, text => text.replace('Name 7', 'Nam'))],
    ['with a line twice', 'copy.ndjson', path => cut(path, text => `${text + text.split('\n', 1)[0]}\n`)],
    ['in another order', 'copy.ndjson', path => cut(path, text => text.split('\n').reverse().join('\n'))],
    ['replaced by a later one', 'copy.ndjson', path => renameSync(at('later.ndjson'), path)],
    ['with a line that is no record', 'copy.ndjson', path => cut(path, text => `{"id":1}\n${text}`)],
    ['cut in its compressed bytes', 'copy.ndjson.gz', path => truncateSync(path, 900)],
    ['cut in its compressed bytes', 'copy.ndjson.zst', path => truncateSync(path, 900)],
    ['cut to nothing', 'copy.ndjson.gz', path => truncateSync(path, 0)],
  ]
  const cut = (path: string, change: (text: string) => string) =>
    writeFileSync(path, change(readFileSync(path, 'utf8')))

  test.each(DAMAGES)('%s (%s) is refused, and what was read is kept', async (_, name, damage) => {
    await begin(name)
    records[3] = record(3, 'Later')
    await pullFrom(stub.baseUrl, ANY_CREDENTIALS, at('later.ndjson'))
    damage(at(`applied/${name}`))
    expect(await refusal({ previous: `applied/${name}` }, 3)).toMatch(
      /^applied\/copy\.ndjson(\.gz|\.zst)? is (damaged|not the file that) .*; 250 of 250 assessments are kept for when that is mended$/,
    )
    // With the right file, nothing has to be read again.
    await begin(name)
    expect((await night({ previous: `applied/${name}` })).result).toMatchObject({ resumed: 250 })
  })

  test.each([
    ['the output', { previous: 'copy.ndjson' }],
    ['the changes', { changes: 'applied/copy.ndjson' }],
    ['the output', { out: 'changes.ndjson' }],
    ['the companion of the output', { changes: 'copy.ndjson.pull' }],
    ['a partial file', { changes: 'copy.ndjson.partial' }],
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
      'nothing was written: 26 of 250 assessments would be removed, more than 10%: ask the operator whether the scope has changed; to remove them once: the same command with --max-removed 26; 224 of 224 assessments are kept for when that is mended',
    )
    const { result, notes } = await night({ maxRemoved: { count: 26 } })
    expect(result).toMatchObject({ resumed: 224, changes: { removed: 26 } })
    expect(notes).toEqual([expect.stringContaining('going on after 224 ')])
    expect(linesOf('changes.ndjson')).toEqual(Array.from({ length: 26 }, (_, id) => removed(id)))
  })

  test('of exactly a tenth, and always of ten, are no reason', async () => {
    await begin()
    without(25)
    expect((await night()).result.changes?.removed).toBe(25)
    serve(...records.slice(0, 10))
    await begin()
    serve()
    const { result, warnings } = await night()
    expect(result.changes).toEqual({ added: 0, changed: 0, removed: 10 })
    expect(warnings).toEqual([expect.stringContaining('no assessment matches')])
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

test('the changes are in place before the output, and its companion as well', async () => {
  await begin()
  records[5] = record(5, 'Renamed')
  // Nothing can replace a folder that is not empty.
  mkdirSync(at('copy.ndjson.zst.draft'))
  await expect(night({ out: 'copy.ndjson.zst' })).rejects.toThrow()
  expect(linesOf('changes.ndjson')).toEqual([changed(records[5] as string)])
  expect([existsSync(at('copy.ndjson.zst')), existsSync(at('copy.ndjson.zst.pull'))]).toEqual([false, true])
})

test('an interrupted night is continued by the same command, with the same changes', async () => {
  await begin()
  serve(...records.slice(2), record(777))
  stub.hook = n => (n > 5 ? new Response('', { status: 503 }) : undefined)
  await expect(night({ retryForMs: 1 })).rejects.toThrow('199 of 249 assessments are kept')
  expect(existsSync(at('changes.ndjson'))).toBe(false)
  stub.hook = () => {}
  const { result } = await night()
  expect(result).toMatchObject({ resumed: 199, changes: { added: 1, changed: 0, removed: 2 } })
  expect(linesOf('changes.ndjson')).toEqual([added(record(777)), removed(0), removed(1)])
})
