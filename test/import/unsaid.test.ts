import { describe, expect, test } from 'bun:test'
import {
  assessment,
  EDUCATOR,
  type Line,
  multiPart,
  ORGANIZATION,
  PROCTOR,
  PRODUCT,
  part,
  REFERENCED,
  world,
} from '../support/fixtures.ts'
import { importLines, importWith, partsOf, problems, staleRecords, useDatabase } from '../support/import.ts'

const user = (fields: object): Line => ({ type: 'user', id: EDUCATOR, ...fields })
const STORED = {
  name: 'Ana M. Ruiz',
  first_name: 'Ana',
  last_name: 'Ruiz',
  email: 'ana@example.org',
  seid: '1234567890',
  record_status: 'archived',
}

describe('a field that an imported line omits', () => {
  const database = useDatabase()

  const loaded = async (...lines: object[]) => {
    const result = await importLines(database.sql, ...lines)
    if (!result.loaded) throw new Error(JSON.stringify(result.problems))
    expect(await staleRecords(database.sql)).toBeEmpty()
    return result.summary
  }

  const storedUser = async (id = EDUCATOR) => {
    const [row] = await database.sql`
      select name, first_name, last_name, email, seid, record_status from users where id = ${id}`
    return { ...row }
  }

  test.each<[string, object, object]>([
    ['only the id', {}, {}],
    ['one field', { email: 'a@b' }, { email: 'a@b' }],
    ['several fields', { name: 'x', record_status: 'active' }, { name: 'x', record_status: 'active' }],
  ])('stays as stored if the line of a user has %s', async (_, given, changed) => {
    await loaded(...world(), assessment(10))
    await loaded(user({ record_status: 'archived' }))
    await loaded(user(given))
    expect(await storedUser()).toEqual({ ...STORED, ...changed })
  })

  test('stays as stored for all types, and a file of only ids writes nothing', async () => {
    await loaded(...REFERENCED, assessment(10, { legacy_record: true }), multiPart(20, [21, 22]))
    const ids = [...REFERENCED, assessment(10), assessment(20)].map(({ type, id }) => ({ type, id }))
    const summary = await loaded(...ids)
    for (const { inserted, updated, deleted } of Object.values(summary))
      expect([inserted, updated, deleted]).toEqual([0, 0, 0])
    await loaded({ type: 'assessment', id: 20, legacy_record: true })
    const rows = await database.sql`select id::int, legacy_record from assessments order by id`
    expect(rows.map(row => ({ ...row }))).toEqual([
      { id: 10, legacy_record: true },
      { id: 20, legacy_record: true },
    ])
    expect(await partsOf(database.sql)).toEqual({ 10: [10], 20: [21, 22] })
  })

  test('gets its default value in a new record', async () => {
    await loaded({ type: 'user', id: 5, name: 'Pat' })
    const empty = { first_name: '', last_name: '', email: '', seid: null, record_status: 'active' }
    expect(await storedUser(5)).toEqual({ name: 'Pat', ...empty })
  })

  test('differs from a field that is null, which is cleared', async () => {
    await loaded(...world())
    await loaded(user({ record_status: 'archived' }))
    await loaded(user({ first_name: null, last_name: null, email: null, seid: null, record_status: null }))
    const empty = { first_name: '', last_name: '', email: '', seid: null, record_status: 'active' }
    expect(await storedUser()).toEqual({ name: STORED.name, ...empty })
  })

  test('makes a line bad if the record is new and the field is required', async () => {
    await loaded(...REFERENCED)
    const lines = [
      { type: 'organization', id: 5 },
      { type: 'user', id: 5, email: 'x' },
      { type: 'assessment', id: 5, user_id: EDUCATOR, organization_id: ORGANIZATION, proctor_id: PROCTOR },
      { ...assessment(6), certified_at: undefined },
      { ...assessment(7), proctor_id: undefined },
      assessment(8, { user_id: 5 }),
    ]
    expect(problems(await importLines(database.sql, ...lines))).toEqual([
      '1: name is missing, and organization 5 is new',
      '2: name is missing, and user 5 is new',
      '3: product_id is missing, and assessment 5 is new',
      '4: certified_at is missing, and assessment 6 is new',
      '5: proctor_id is missing',
    ])
    const rejects: number[] = []
    await importWith(database.sql, { onReject: ({ line = 0 }) => void rejects.push(line) }, ...lines)
    expect(rejects).toEqual([1, 2, 3, 4, 5, 6])
  })

  test('may be parts: given parts replace all stored ones, and omitted parts stay', async () => {
    await loaded(...REFERENCED, assessment(10), multiPart(20, [21, 22]))
    await loaded(
      { type: 'assessment', id: 10, parts: [part(11), part(12)] },
      { type: 'assessment', id: 20, proctor_id: EDUCATOR },
    )
    expect(await partsOf(database.sql)).toEqual({ 10: [11, 12], 20: [20] })
  })

  test('may be proctor_id: null keeps the parts, and is refused for an assessment without parts', async () => {
    await loaded(...REFERENCED, assessment(10), multiPart(20, [21, 22]))
    await loaded({ type: 'assessment', id: 20, proctor_id: null, legacy_record: true })
    expect(await partsOf(database.sql)).toEqual({ 10: [10], 20: [21, 22] })
    const lines = [10, 30].map(id => assessment(id, { proctor_id: null }))
    expect(problems(await importLines(database.sql, ...lines))).toEqual([
      '1: proctor_id is missing',
      '2: proctor_id is missing',
    ])
  })

  test('does not matter to --sync, which keeps every record whose id is listed', async () => {
    await loaded(...REFERENCED, { type: 'product', id: 2, name: 'x' })
    const ids = REFERENCED.map(({ type, id }) => ({ type, id }))
    const result = await importWith(database.sql, { sync: { percent: 100 } }, ...ids)
    expect(result).toMatchObject({
      summary: { products: { deleted: 1, unchanged: 1 }, users: { unchanged: 2 } },
    })
    expect(await database.sql`select from products where id = ${PRODUCT}`).toHaveLength(1)
  })
})
