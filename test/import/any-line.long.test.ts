import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import pino from 'pino'
import { readObject, readRow } from '../../src/import/rows.ts'
import { BadLine, type ReadRow } from '../../src/import/source-rows.ts'
import { assessment, educator, organization, product, REFERENCED } from '../support/fixtures.ts'
import { idsOf, list } from '../support/http.ts'
import { importLines, useDatabase } from '../support/import.ts'
import { Floors, holds } from '../support/property.ts'
import { authorize, listen } from '../support/service.ts'
import { seed } from '../support/tier.ts'

/**
 * Names, among them characters that only some programs count as white space, and characters that Postgres
 * cannot store.
 */
const name = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.string({
    unit: fc.constantFrom(
      ...['\x1c', '\x1f', '\u0085', '\u00a0', '\u180e', '\u200b', '\u2028', '\ufeff', ' ', '\0'],
    ),
  }),
  fc.constantFrom('Ana', 'x'.repeat(500), 'x'.repeat(501), 'İ'.repeat(500), '\ud800'),
)
const id = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }))
const twoDigits = (most: number) =>
  fc.integer({ min: 0, max: most }).map(number => String(number).padStart(2, '0'))
const day = fc
  .tuple(
    fc.oneof(fc.constantFrom('0000', '0001', '9999', '2026'), fc.constant('2024')),
    twoDigits(13),
    twoDigits(32),
  )
  .map(parts => parts.join('-'))
const time = fc
  .tuple(
    twoDigits(24),
    twoDigits(60),
    fc.constantFrom('', ':00', ':59', ':60', ':59.5', ':59.9999999', ':59.999999999'),
    fc.constantFrom('Z', 'z', '', '+00:00', '-00:00', '+14:59', '-14:59', '-1459', '+15:00', '+5', ' Z'),
  )
  .map(([hour, minute, second, offset]) => `${hour}:${minute}${second}${offset}`)
const instant = fc.oneof(
  day,
  fc.tuple(day, fc.constantFrom('T', 't', ' '), time).map(parts => parts.join('')),
)
const status = fc.constantFrom('active', 'archived', 'gone')

/** A value of the right kind in 12 of 13 cases, any JSON value otherwise. */
const mostly = (value: fc.Arbitrary<unknown>) =>
  fc.oneof({ arbitrary: value, weight: 12 }, { arbitrary: fc.jsonValue(), weight: 1 })

const named = fc.record(
  { type: fc.constantFrom('organization', 'product'), id, name: mostly(name), deleted: mostly(fc.boolean()) },
  { requiredKeys: ['type', 'id'] },
)
const user = fc.record(
  {
    type: fc.constant('user'),
    id: mostly(id),
    name: mostly(name),
    first_name: mostly(name),
    last_name: mostly(name),
    email: mostly(name),
    seid: mostly(name),
    record_status: mostly(status),
  },
  { requiredKeys: ['type', 'id', 'name'] },
)
const part = fc.record({
  id: mostly(id),
  name: mostly(name),
  certified_at: mostly(instant),
  proctor_id: mostly(id),
})
const anyAssessment = fc.record(
  {
    type: fc.constant('assessment'),
    id: mostly(id),
    user_id: mostly(id),
    organization_id: mostly(id),
    product_id: mostly(id),
    certified_at: mostly(instant),
    legacy_record: mostly(fc.boolean()),
    proctor_id: mostly(id),
    parts: mostly(fc.array(part, { maxLength: 4 })),
    deleted: fc.constantFrom(true, false, null),
  },
  { requiredKeys: ['type', 'id', 'user_id', 'organization_id', 'product_id', 'certified_at'] },
)
/** Characters of names; in the order of the sort keys, the second is the first. */
const CHARACTERS = ['x', 'İ', 'ﬃ', '𝄞', '👩']
const line = fc.oneof(
  fc.oneof(named, user, anyAssessment, fc.jsonValue()).map(value => JSON.stringify(value)),
  fc.json(),
  fc.string({ unit: 'binary' }),
)

/** The row, or the reason against the line. Only a BadLine is caught. */
function outcome(text: string): ReadRow | string {
  try {
    return readRow(readObject(text))
  } catch (error) {
    if (error instanceof BadLine) return error.message
    throw error
  }
}

const isAccepted = (line: unknown) => typeof outcome(JSON.stringify(line)) !== 'string'

test('any input line gives a row or a BadLine, and no other exception', async () => {
  const floors = new Floors({ 'a row': 0.05, 'a BadLine': 0.5 })
  const property = fc.property(line, text => {
    const read = outcome(text)
    floors.reached(typeof read === 'string' ? 'a BadLine' : 'a row')
    if (typeof read !== 'string') expect(read.row.id).toSatisfy(Number.isSafeInteger)
  })
  await holds(property, { runs: 10_000, floors })
})

test('the reason against a bad line is one clause on one line and quotes no text of the line', async () => {
  const secret = 'Zyxwv'
  const value = fc.constantFrom<unknown>(
    secret,
    [secret],
    { [secret]: secret },
    `${secret}\0`,
    secret.repeat(101),
  )
  const fields = fc.constantFrom(
    ...['type', 'id', 'name', 'email', 'seid', 'certified_at', 'parts', 'proctor_id', 'deleted'],
  )
  const base = fc.constantFrom(educator(1), assessment(1))
  const floors = new Floors({ 'a reason': 0.5 })
  const property = fc.property(base, fields, value, (object, field, wrong) => {
    const read = outcome(JSON.stringify({ ...object, [field]: wrong }))
    if (typeof read !== 'string') return
    floors.reached('a reason')
    expect(read).toMatch(/^[a-z][^\n]{5,119}[^.\n]$/)
    expect(read).not.toContain(secret)
  })
  await holds(property, { runs: 500, floors })
})

describe('an import', () => {
  const database = useDatabase()

  test('loads any valid lines or reports the bad ones by number, and the database refuses none', async () => {
    const any = fc.array(fc.oneof(named, user, anyAssessment), { minLength: 1, maxLength: 6 })
    const readable = any.map(lines => lines.filter(isAccepted))
    const lines = fc.oneof(any, readable)
    const floors = new Floors({ loaded: 0.1, refused: 0.2 })
    const property = fc.asyncProperty(lines, async lines => {
      const result = await importLines(database.sql, ...REFERENCED, ...lines)
      if (lines.length > 0) floors.reached(result.loaded ? 'loaded' : 'refused')
      if (result.loaded) return
      expect(result.problems).not.toBeEmpty()
      for (const { line } of result.problems) expect(line).toBeWithin(1, REFERENCED.length + lines.length + 1)
    })
    await holds(property, { runs: 45, floors })
  })

  // Servers differ in their white space. If the database refuses a character, its code is the id in the
  // error.
  test('stores every character that the reader accepts in a name or a seid', async () => {
    const lines = Array.from({ length: 0xffff }, (_, index) => index + 1)
      // Codes 0x3400 to 0xd79f are 40,000 ideographs and syllables: an eighth of them is drawn.
      .filter(code => code < 0x3400 || code >= 0xd7a0 || code % 8 === seed % 8)
      .flatMap(code => {
        const character = String.fromCharCode(code)
        const both = { type: 'user', id: code, name: character, seid: character }
        const alone = [
          { type: 'user', id: code, name: character },
          { type: 'user', id: code, name: 'x', seid: character },
        ]
        return isAccepted(both) ? [both] : alone.filter(isAccepted)
      })
    expect(lines.length).toBeGreaterThan(26_000)
    expect(await importLines(database.sql, ...lines)).toMatchObject({ loaded: true, lines: lines.length })
  })

  test('stores texts as they are, also those that JSON or an array of Postgres would escape', async () => {
    const control = Array.from({ length: 0x1f }, (_, index) => String.fromCharCode(index + 1))
    const pieces = [
      ...control,
      ...'"\\{},/',
      'n',
      'u0041',
      '\\n',
      '\\u0041',
      '\u2028',
      'NULL',
      'null',
      'é',
      '𝄞',
      ' ',
    ]
    const text = fc.string({ unit: fc.constantFrom(...pieces), maxLength: 20 })
    const property = fc.asyncProperty(fc.array(text, { minLength: 50, maxLength: 100 }), async texts => {
      const people = texts.map((first_name, index) => educator(index + 1, { first_name }))
      expect(await importLines(database.sql, ...people)).toMatchObject({ loaded: true })
      const stored = await database.sql`select first_name from users where id <= ${texts.length} order by id`
      expect(stored.map(row => row.first_name)).toEqual(texts)
    })
    await holds(property, { runs: 5 })
  })

  test('stores, sorts and searches the longest names that the reader accepts', async () => {
    const lines = CHARACTERS.flatMap((character, index) => {
      const name = character.repeat(500)
      const id = index + 1
      return [
        organization(id, name),
        product(id, name),
        educator(id, { name, first_name: name, last_name: name, email: name, seid: name }),
        assessment(id, { user_id: id, organization_id: id, product_id: id, proctor_id: id }),
      ]
    })
    expect(await importLines(database.sql, ...lines)).toMatchObject({ loaded: true, lines: lines.length })
    const ids = CHARACTERS.map((_, index) => index + 1)
    const { url: baseUrl, stop } = listen(database, pino({ level: 'silent' }))
    const { token } = await authorize({ ...database, baseUrl, logged: () => '' }, ids, ids)
    for (const sort of ['user_name', 'proctor_name', 'product_name'])
      expect([sort, idsOf(await list(baseUrl, token, { sort, order: 'ASC' }))]).toEqual([
        sort,
        [2, 1, 3, 4, 5],
      ])
    for (const id of ids) {
      const search = CHARACTERS[id - 1]?.repeat(500) ?? ''
      expect(idsOf(await list(baseUrl, token, { 'filter[search]': search }))).toEqual([id])
    }
    await stop()
  })

  test('stores every time of completion that the reader accepts, and shows it as YYYY-MM-DD', async () => {
    const property = fc.asyncProperty(
      fc.array(instant, { minLength: 200, maxLength: 400 }),
      async instants => {
        const lines = instants
          .map((certified_at, index) => JSON.stringify(assessment(index + 1, { certified_at })))
          .filter(text => typeof outcome(text) !== 'string')
        expect(lines.length).toBeGreaterThan(instants.length / 4)
        expect(await importLines(database.sql, ...lines, ...REFERENCED)).toMatchObject({ loaded: true })
        const rows = await database.sql`select document::json ->> 'certified_on' as day from export_records`
        expect(rows.length).toBeGreaterThanOrEqual(lines.length)
        for (const { day } of rows) expect(day).toMatch(/^\d{4}-\d\d-\d\d$/)
      },
    )
    await holds(property, { runs: 3 })
  })
})
