import { describe, expect, test } from 'bun:test'
import * as rows from '../../src/import/rows.ts'
import { BadLine } from '../../src/import/source-rows.ts'
import { NO_ID, NO_JSON, NO_TYPE } from '../support/wordings.ts'

type Fields = Record<string, unknown>

const valid = {
  organization: { type: 'organization', id: 12, name: 'Lakeside District' },
  product: { type: 'product', id: 7, name: 'Reading Observation' },
  user: {
    type: 'user',
    id: 501,
    name: 'Ana M. Ruiz',
    first_name: 'Ana',
    last_name: 'Ruiz',
    email: 'ana@example.org',
    seid: '1234567890',
    record_status: 'active',
  },
  assessment: {
    type: 'assessment',
    id: 9001,
    user_id: 501,
    organization_id: 12,
    product_id: 7,
    certified_at: '2026-03-01T18:20:00Z',
    legacy_record: false,
    proctor_id: 77,
  },
} satisfies Record<string, Fields>

const part = { id: 9101, name: 'Part 1', certified_at: '2026-03-01', proctor_id: 77 }
const { proctor_id: _, ...withoutProctor } = valid.assessment
const multi = { ...withoutProctor, parts: [part, { ...part, id: 9102, name: 'Part 2' }] }

const readLine = (text: string) => rows.readRow(rows.readObject(text))
const readObject = (object: unknown) => readLine(JSON.stringify(object))

/** The message of the BadLine that reading the object throws. */
function reason(object: unknown): string {
  return reasonOfText(JSON.stringify(object))
}

function reasonOfText(text: string): string {
  try {
    readLine(text)
  } catch (error) {
    if (error instanceof BadLine) return error.message
    throw error
  }
  return 'the line was read'
}

const TYPES = 'organization, product, user or assessment'
const INSTANT = 'must be a day as 2026-03-01, or an instant with its offset as 2026-03-01T18:20:00Z'

describe('a valid line', () => {
  test('of an organization or a product is a row of id and name', () => {
    expect(readObject(valid.organization)).toEqual({
      type: 'organization',
      row: { id: 12, deleted: false, name: 'Lakeside District' },
      parts: [],
    })
    expect(readObject(valid.product).row).toEqual({ id: 7, deleted: false, name: 'Reading Observation' })
  })

  test('of a user is a row of all fields', () => {
    const { type: _, ...fields } = valid.user
    expect(readObject(valid.user)).toEqual({ type: 'user', row: { ...fields, deleted: false }, parts: [] })
  })

  test('has the default of a field that it omits or that is null', () => {
    const defaults = { first_name: '', last_name: '', email: '', seid: null, record_status: 'active' }
    const row = { id: 77, deleted: false, name: 'Pat', ...defaults }
    expect(readObject({ type: 'user', id: 77, name: 'Pat' }).row).toEqual(row)
    const nulls = Object.fromEntries(Object.keys(defaults).map(name => [name, null]))
    expect(readObject({ type: 'user', id: 77, name: 'Pat', ...nulls }).row).toEqual(row)
  })

  test('of an assessment without separate parts has one part with its own id', () => {
    const { type: _, proctor_id, ...fields } = valid.assessment
    expect(readObject(valid.assessment)).toEqual({
      type: 'assessment',
      row: { ...fields, deleted: false },
      parts: [{ id: 9001, position: 1, name: null, certified_at: null, proctor_id }],
    })
  })

  test('of an assessment with parts has the parts in their order', () => {
    expect(readObject({ ...multi, proctor_id: null }).parts).toEqual([
      { ...part, position: 1 },
      { ...part, id: 9102, name: 'Part 2', position: 2 },
    ])
    expect(readObject({ ...valid.assessment, parts: null }).parts).toHaveLength(1)
  })

  test.each([
    [undefined, false],
    [null, false],
    [false, false],
    [true, true],
  ])('with a legacy_record of %p is read as %p', (legacy_record, expected) => {
    expect(readObject({ ...valid.assessment, legacy_record }).row.legacy_record).toBe(expected)
  })

  test('with deleted needs only type and id', () => {
    for (const type of ['organization', 'product', 'user', 'assessment'])
      expect(readLine(`{"type":"${type}","id":5,"deleted":true}`)).toEqual({
        type: type as 'user',
        row: { id: 5, deleted: true },
        parts: [],
      })
  })

  test('does not delete when deleted is false or null', () => {
    for (const deleted of [false, null])
      expect(readObject({ ...valid.product, deleted }).row.deleted).toBe(false)
  })

  test('may have unknown fields, which are reported', () => {
    const unknown: string[] = []
    const readNoting = (object: Fields) =>
      rows.readRow(object, (kind, key) => void unknown.push(`${kind} ${key}`))
    expect(readNoting({ ...valid.product, colour: 'red', parts: 5 })).toEqual(readObject(valid.product))
    expect(readNoting({ ...multi, parts: [{ ...part, day: 1 }] })).toEqual(
      readObject({ ...multi, parts: [part] }),
    )
    for (const object of [...Object.values(valid), multi]) readNoting(object)
    expect(unknown).toEqual(['product colour', 'product parts', 'part day'])
    expect(readLine('{"__proto__":{"name":"x"},"type":"product","id":7,"name":"y"}').row.name).toBe('y')
  })

  test('may end in a carriage return and have white space between its tokens', () => {
    expect(readLine(`  ${JSON.stringify(valid.user, null, ' ').replaceAll('\n', ' ')}\r`)).toEqual(
      readObject(valid.user),
    )
  })

  test('may have colons, quotes and the keys of other objects in its texts and parts', () => {
    const name = '":{"id":\\"'
    const keys = {
      'a:"b': { id: 1 },
      id: 12,
      type: 'organization',
      name,
      list: [[{}, { id: ':' }], ':', null],
    }
    expect(readLine(JSON.stringify(keys, undefined, 2)).row.name).toBe(name)
    const brackets = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    expect(readLine(`{"type":"organization","id":1,"name":"x","y":${brackets}}`).row.id).toBe(1)
  })

  test('with a blank seid has none; leading zeros of a seid stay', () => {
    for (const seid of ['', '  ', '\t']) expect(readObject({ ...valid.user, seid }).row.seid).toBeNull()
    expect(readObject({ ...valid.user, seid: '0012' }).row.seid).toBe('0012')
    for (const seid of ['Null Island', '1E5', 'NA', '12.5e', '#12', '(12)', 'Err:', 'Inf1', '-'])
      expect(readObject({ ...valid.user, seid }).row.seid).toBe(seid)
  })

  test('has its seid without the blanks around it', () => {
    for (const seid of [' 1 2\u00a0', '\t1 2', '1 2\r\n'])
      expect(readObject({ ...valid.user, seid }).row.seid).toBe('1 2')
    const columns = ['id', 'name', 'seid']
    expect(rows.readCells('user', columns, ['1', 'x', ' 00123 '])).toMatchObject({ row: { seid: '00123' } })
  })

  test('may have numbers of any form in keys without a meaning, and in its texts', () => {
    const name = '1.5e3 "2.5"'
    expect(readObject({ ...valid.user, score: 1.5, big: 1e300, name }).row).toMatchObject({ id: 501, name })
  })

  test.each([
    ...['2026-03-01', '2024-02-29', '2026-03-01T18:20:00Z', '2026-03-01T18:20Z', '2026-03-01t18:20:00z'],
    ...['2026-03-01 18:20:00+05:30', '2026-03-09T00:10:00-0500', '2026-03-01T23:59:59.123456Z'],
  ])('may have the time of completion %s', certified_at => {
    expect(readObject({ ...valid.assessment, certified_at }).row.certified_at).toBe(certified_at)
  })

  // SQL Server exports seven digits. Postgres keeps six and rounds the rest.
  test('stays on its day if Postgres rounds the fraction of its second', () => {
    const read = readObject({ ...valid.assessment, certified_at: '2026-03-01T23:59:59.9999999Z' })
    expect(read.row.certified_at as string).toMatch(/^2026-03-01T23:59:59(\.\d{1,6})?Z$/)
  })
})

describe('a bad line', () => {
  test.each([
    ['', NO_JSON],
    ['nonsense', NO_JSON],
    ['{"type":"user"', NO_JSON],
    ["{'type':'user'}", NO_JSON],
    ['{"type":"user","id":NaN}', NO_JSON],
    ['{} {}', NO_JSON],
    ['['.repeat(500_000), NO_JSON],
    ['[]', 'not a JSON object'],
    ['null', 'not a JSON object'],
    ['"user"', 'not a JSON object'],
    ['5', 'not a JSON object'],
    ['{}', NO_TYPE],
  ])('%p is refused: %s', (text, message) => {
    expect(reasonOfText(text)).toBe(message)
  })

  const requiredFields: [keyof typeof valid, string][] = [
    ...(['organization', 'product', 'user'] as const).map((type): [typeof type, string] => [type, 'name']),
    ...(['organization', 'user', 'assessment'] as const).map((type): [typeof type, string] => [type, 'id']),
    ...['user_id', 'organization_id', 'product_id', 'certified_at'].map((field): ['assessment', string] => [
      'assessment',
      field,
    ]),
  ]
  test.each(requiredFields)('of type %s lacks the required %s', (type, field) => {
    expect(reason({ ...valid[type], [field]: undefined })).toBe(`${field} is missing`)
    expect(reason({ ...valid[type], [field]: null })).toBe(`${field} is missing`)
  })

  test('lacks an id, or has neither parts nor a proctor', () => {
    expect(reason({ type: 'user', name: 'Pat' })).toBe('id is missing')
    for (const parts of [null, undefined])
      expect(reason({ ...withoutProctor, parts })).toBe('proctor_id is missing, and there are no parts')
  })

  const wrongIds = [0, -1, 1.5, 9007199254740992, '12', '', true, [1], {}]
  test.each(['id', 'user_id', 'organization_id', 'product_id', 'proctor_id'])('has an invalid %s', field => {
    for (const id of wrongIds) expect(reason({ ...valid.assessment, [field]: id })).toBe(`${field} ${NO_ID}`)
    expect(reasonOfText(`{"type":"user","id":1e400,"name":"x"}`)).toBe(`id ${NO_ID}`)
  })

  test.each(['name', 'first_name', 'last_name', 'email', 'seid'])('has an invalid %s', field => {
    for (const value of [5, true, [], {}])
      expect(reason({ ...valid.user, [field]: value })).toBe(`${field} must be a string`)
    for (const value of ['x'.repeat(501), '𝄞'.repeat(501)])
      expect(reason({ ...valid.user, [field]: value })).toBe(`${field} is longer than 500 characters`)
    for (const value of ['a\0b', '\ud800', 'x\udc00y'])
      expect(reason({ ...valid.user, [field]: value })).toBe(
        `${field} holds a character that cannot be stored`,
      )
  })

  test('has a seid with a character that no filter can contain', () => {
    for (const character of ['\n', '\t', '\x01', '\x7f', '\x85', '\ufffd'])
      expect(reason({ ...valid.user, seid: `1${character}2` })).toBe(
        'seid holds a character that no filter can ask for',
      )
  })

  test.each([
    ...['NULL', 'null', 'N/A', 'n/a', 'None', 'nil', 'undefined', '\\N', ' NULL '],
    ...['(null)', '<null>', '[NULL]', '{}', '<NA>', '(none)', '(Leer)', '[object Object]'],
  ])('has the seid %p, which is a word for none', seid => {
    expect(reason({ ...valid.user, seid })).toBe(
      'seid must be empty where it was never recorded, and not a word for that',
    )
  })

  test.each([
    ...['#N/A', '#REF!', '#DIV/0!', '#¡DIV/0!', '#WERT!', '#NV', '#NAME?', '#VALUE!', '#(null)', '#######'],
    ...['Err:502', 'NaN', '-nan', 'Infinity', '-1.#IND', '1,#QNAN'],
  ])('has the seid %p, which is the error value of a program', seid => {
    expect(reason({ ...valid.user, seid })).toBe(
      'seid is the error value of a program: correct it there, or leave it empty',
    )
  })

  test.each(['#REF!', '(null)', '#N/A', 'NULL', '-1.#IND'])('has the id %p, which is no number', id => {
    expect(reason({ ...valid.user, id })).toBe(`id ${NO_ID}`)
    const cells = rows.readCells('user', ['id', 'name'], [id, 'x'])
    expect((cells as BadLine).message).toBe(`id ${NO_ID}`)
  })

  test.each([
    '{"type":"organization","id":1,"name":"x","id":2}',
    '{"type":"organization","id":1,"name":"x","\\u0069d":1}',
    '{"type":"organization","id":1,"name":"a\\\\","colour":{":":1,"\\u003a" :2}}',
    '{"type":"organization","id":1,"name":"x","__proto__":1,"__proto__":2}',
    `{"type":"assessment","id":1,"parts":[{"id":2},{"id":3,"name":":\\":","name":null}]}`,
  ])('has a key twice in one object: %s', text => {
    expect(reasonOfText(text)).toBe('a key stands twice in one object: keep one of the two')
  })

  test.each(['1.23457E+11', '1,2e+9', '9E+05'])('has the seid %p, which was rounded', seid => {
    expect(reason({ ...valid.user, seid })).toBe('seid was rounded, as spreadsheets do: export it as text')
  })

  test.each(['1e5', '1E2', '9007199254740991.4', '1.0', '12e0', '0.1e1'])(
    'has the id %s, which is a whole number only after rounding',
    id => {
      const text = JSON.stringify(multi)
      for (const field of ['"id":9001', '"user_id":501'])
        expect(reasonOfText(text.replace(field, field.replace(/\d+$/, id)))).toBe(
          `${field.split('"')[1]} ${NO_ID}`,
        )
      expect(reasonOfText(text.replace('"proctor_id":77', `"proctor_id":${id}`))).toBe(
        `parts[0].proctor_id ${NO_ID}`,
      )
      const read = rows.readCells('organization', ['id', 'name'], [id, 'x'])
      expect(read).toBeInstanceOf(BadLine)
    },
  )

  test('begins with a byte order mark', () => {
    expect(reasonOfText(`\ufeff${JSON.stringify(valid.user)}`)).toBe(
      'begins with a byte order mark: remove the first three bytes of the line',
    )
  })

  test.each(['organization', 'product', 'user'] as const)('of type %s has a blank name', type => {
    for (const name of ['', ' ', '\t\n', '\u00a0', '\u3000\u2028'])
      expect(reason({ ...valid[type], name })).toBe('name is blank')
  })

  // If a deleted that is not a boolean were ignored, the row would be loaded instead of removed.
  const lines = { ...valid, parted: multi }
  test.each<[keyof typeof lines, string, unknown[], string]>([
    ['user', 'type', ['User', 'toString', '__proto__', 'part', '', null, 5, ['user'], {}], TYPES],
    ['user', 'record_status', ['Active', 'deleted', '', true, 1], 'active or archived'],
    ['assessment', 'legacy_record', ['true', 1, 0, '', []], 'true or false'],
    ['user', 'deleted', ['true', 'yes', 1, 0, '', []], 'true or false'],
    ['parted', 'parts', [[], {}, 'x', 5, true], 'a list that is not empty'],
  ])('(%s) has an invalid %s', (type, field, values, what) => {
    for (const value of values)
      expect(reason({ ...lines[type], [field]: value })).toBe(`${field} must be ${what}`)
  })

  test.each([
    ...['', 'yesterday', '2026-02-29', '2026-13-01', '2026-00-10', '2026-3-1', '20260301', '01.03.2026'],
    ...['2026-03-01T18:20:00', '2026-03-01T24:00:00Z', '2026-03-01T18:60:00Z', '2026-03-01T18:20:60Z'],
    ...['2026-03-01T18:20:00+15:00', '2026-03-01T18:20:00 Europe/Berlin', '2026-03-01T', ' 2026-03-01'],
    ...['2026-03-01\n', '+010000-01-01', 'infinity', 'now'],
  ])('has the time of completion %p', certified_at => {
    expect(reason({ ...valid.assessment, certified_at })).toBe(`certified_at ${INSTANT}`)
  })

  test('has a time of completion that is not a string, or outside the years 1 to 9999', () => {
    for (const certified_at of [1772389200, true, ['2026-03-01'], {}])
      expect(reason({ ...valid.assessment, certified_at })).toBe(`certified_at ${INSTANT}`)
    for (const certified_at of ['0000-12-31', '0000-01-01T00:00:00Z'])
      expect(reason({ ...valid.assessment, certified_at })).toBe(
        `certified_at is outside the years 1 to 9999`,
      )
  })

  test('has an element of parts that is not an object', () => {
    for (const wrong of [null, 5, [], 'x'])
      expect(reason({ ...multi, parts: [part, wrong] })).toBe('parts[1] must be an object')
  })

  test('is refused with the part and the field that is wrong', () => {
    const second = (fields: Fields) => reason({ ...multi, parts: [part, { ...part, id: 9102, ...fields }] })
    for (const field of ['id', 'name', 'certified_at', 'proctor_id'])
      expect(second({ [field]: null })).toBe(`parts[1].${field} is missing`)
    expect(second({ id: 'x' })).toBe(`parts[1].id ${NO_ID}`)
    expect(second({ proctor_id: 0 })).toBe(`parts[1].proctor_id ${NO_ID}`)
    expect(second({ name: '  ' })).toBe('parts[1].name is blank')
    expect(second({ certified_at: '1.3.2026' })).toBe(`parts[1].certified_at ${INSTANT}`)
  })

  test('has both parts and a proctor of its own', () => {
    const message = 'proctor_id and parts are both given: each part names its own proctor'
    expect(reason({ ...multi, proctor_id: 77 })).toBe(message)
  })
})
