import { describe, expect, test } from 'bun:test'
import {
  assessment,
  EDUCATOR,
  type Line,
  multiPart,
  ORGANIZATION,
  PROCTOR,
  REFERENCED,
  world,
} from '../support/fixtures.ts'
import { importLines, partsOf, problems, staleRecords, useDatabase } from '../support/import.ts'

const user = (fields: object): Line => ({ type: 'user', id: EDUCATOR, name: 'Ana M. Ruiz', ...fields })
const EMPTY = { first_name: '', last_name: '', email: '', seid: null, record_status: 'active' }

describe('a field that a line omits', () => {
  const database = useDatabase()

  const loaded = async (...lines: object[]) => {
    const result = await importLines(database.sql, ...lines)
    if (!result.loaded) throw new Error(JSON.stringify(result.problems))
    expect(await staleRecords(database.sql)).toBeEmpty()
  }

  const storedUser = async (id: number) => {
    const [row] = await database.sql`
      select first_name, last_name, email, seid, record_status from users where id = ${id}`
    return { ...row }
  }

  test('gets its default value in a new record', async () => {
    await loaded({ type: 'user', id: 5, name: 'Pat' })
    expect(await storedUser(5)).toEqual(EMPTY)
  })

  test.each<[string, object]>([
    ['omitted', {}],
    ['null', { first_name: null, last_name: null, email: null, seid: null, record_status: null }],
  ])('gets its default value in a stored record, too, if it is %s', async (_, fields) => {
    await loaded(...world(), assessment(10, { legacy_record: true }))
    await loaded(user({ record_status: 'archived' }))
    await loaded(user(fields), assessment(10))
    expect(await storedUser(EDUCATOR)).toEqual(EMPTY)
    const [row] = await database.sql`select legacy_record from assessments where id = 10`
    expect(row?.legacy_record).toBe(false)
  })

  test('makes the line bad if the field is required, also where a value is stored', async () => {
    await loaded(...REFERENCED, assessment(10), multiPart(20, [21, 22]))
    const lines = [
      { type: 'organization', id: ORGANIZATION },
      { type: 'user', id: EDUCATOR, email: 'x' },
      { type: 'assessment', id: 10, user_id: EDUCATOR, organization_id: ORGANIZATION, proctor_id: PROCTOR },
      { ...assessment(6), certified_at: undefined },
      { ...assessment(10), proctor_id: undefined },
      assessment(20, { proctor_id: null }),
    ]
    expect(problems(await importLines(database.sql, ...lines))).toEqual([
      '1: name is missing',
      '2: name is missing',
      '3: product_id is missing',
      '4: certified_at is missing',
      '5: proctor_id is missing, and there are no parts',
      '6: proctor_id is missing, and there are no parts',
    ])
    expect(await partsOf(database.sql)).toEqual({ 10: [10], 20: [21, 22] })
  })
})
