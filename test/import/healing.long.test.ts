import { beforeEach, describe, expect, test } from 'bun:test'
import { openDatabase } from '../../src/database/database.ts'
import { compareExport } from '../../src/doctor/export.ts'
import { refresh } from '../../src/tables/refresh.ts'
import {
  assessment,
  educator,
  multiPart,
  organization,
  PRODUCT,
  part,
  proctor,
  product,
  REFERENCED,
  removal,
} from '../support/fixtures.ts'
import { importLines, useDatabase } from '../support/import.ts'
import { withoutTriggers } from '../support/without-triggers.ts'

const database = useDatabase()
const WORLD = [
  ...REFERENCED,
  organization(11),
  assessment(9001),
  assessment(9002),
  multiPart(9100, [9101, 9102]),
]

/** Loads lines, and returns the finding of doctor --full about the read model. */
async function loaded(...lines: object[]): Promise<string> {
  const result = await importLines(database.sql, ...lines)
  if (!result.loaded) throw new Error(JSON.stringify(result.problems))
  return (await compareExport(database.sql, true)).detail
}

describe('after writes that bypassed the triggers', () => {
  beforeEach(async () => {
    await loaded(...WORLD)
  })

  test.each<[string, string, object]>([
    [
      'a user',
      `update users set name = 'Eva', first_name = 'Eva' where id = 501`,
      educator(501, { email: 'new' }),
    ],
    ['a proctor', `update users set name = 'Eva', first_name = 'Eva' where id = 77`, proctor(77, 'New')],
    ['an organization', `update organizations set name = 'Past' where id = 10`, organization(10, 'New')],
    ['a product', `update products set name = 'Past' where id = ${PRODUCT}`, product(PRODUCT, 'New')],
    [
      'an assessment',
      'update assessments set organization_id = 11 where id = 9001',
      assessment(9001, { certified_at: '2026-04-01' }),
    ],
    [
      'an assessment that was deleted',
      'delete from assessment_parts where id = 9001; delete from assessments where id = 9001',
      assessment(9001),
    ],
    [
      'an assessment that came',
      `insert into assessments values (9003, 501, 10, 1, now())`,
      removal('assessment', 9003),
    ],
    [
      'a part',
      'update assessment_parts set proctor_id = 501 where id = 9101',
      multiPart(9100, [9101, part(9102, { name: 'New' })]),
    ],
    [
      'an assessment of parts',
      'update assessments set organization_id = 11 where id = 9100',
      multiPart(9100, [9101, part(9102, { name: 'New' })], { organization_id: 11 }),
    ],
  ])('an import that changes %s renders its stale records', async (_, statements, line) => {
    await withoutTriggers(database.sql, statements)
    expect(await loaded(line)).toMatch(/^all \d records, equal to their source$/)
  })

  test('an import inserts a deleted record again, and axport refresh corrects the counts', async () => {
    await withoutTriggers(database.sql, 'delete from export_records where id = 9001')
    expect(await loaded(assessment(9001, { organization_id: 11 }))).toStartWith(
      'counts of organization 10 differ: ',
    )
    await refresh(database.sql, () => {})
    expect((await compareExport(database.sql, true)).detail).toBe('all 3 records, equal to their source')
  })

  test('an import leaves stale records alone if the source table already equals its line', async () => {
    await withoutTriggers(database.sql, `update users set name = 'Eva' where id = 501`)
    expect(await loaded(educator(501, { name: 'Eva' }))).toStartWith('3 of all 3 records differ')
  })
})

test.each([
  ['all', ''],
  ['user', ''],
  ['users_updated', ''],
  ['users_updated', 'quote_all_identifiers'],
])(
  'an import is refused while trigger %s of a table is disabled, and the message says how to enable it %s',
  async (which, setting) => {
    const { url } = database
    const { sql, close } = await openDatabase(setting ? `${url}?options=-c%20${setting}%3Don` : url, 1)
    await sql.unsafe(`alter table users disable trigger ${which}`)
    const refused = await importLines(sql, ...REFERENCED).catch(error => String(error.message))
    const enable = `alter table users enable trigger ${which === 'all' ? 'all' : 'user'}`
    await sql.unsafe(enable)
    expect(refused).toBe(
      `nothing was loaded: triggers of users are disabled, and the export would not follow: ${enable}, then axport refresh`,
    )
    expect(await importLines(sql, ...REFERENCED)).toMatchObject({ loaded: true })
    await close()
  },
)
