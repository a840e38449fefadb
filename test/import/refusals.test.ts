import { describe, expect, test } from 'bun:test'
import {
  assessment,
  EDUCATOR,
  educator,
  type Line,
  multiPart,
  ORGANIZATION,
  PROCTOR,
  PRODUCT,
  part,
  REFERENCED,
  range,
  removal,
} from '../support/fixtures.ts'
import { everything, importLines, problems, useDatabase } from '../support/import.ts'
import { missing, NO_JSON, NO_TYPE } from '../support/wordings.ts'

const parted = (id: number, ...parts: number[]) => multiPart(id, parts)

describe('an import', () => {
  const database = useDatabase()

  /**
   * Loads REFERENCED and `before`, then `lines`. Returns the reasons, and checks that `lines` changed nothing.
   */
  async function refused(before: Line[], lines: (object | string)[]): Promise<string[]> {
    expect(await importLines(database.sql, ...REFERENCED, ...before)).toMatchObject({ loaded: true })
    const state = await everything(database.sql)
    const found = problems(await importLines(database.sql, ...lines))
    expect(await everything(database.sql)).toEqual(state)
    return found
  }

  test('refuses a reference to a row that is neither in the file nor in the database, for every column', async () => {
    const lines = [
      assessment(10, { user_id: 91 }),
      assessment(11, { organization_id: 92 }),
      assessment(12, { product_id: 93 }),
      assessment(13, { proctor_id: 94 }),
      multiPart(14, [15, part(16, { proctor_id: 95 })]),
      assessment(17),
    ]
    expect(await refused([], lines)).toEqual([
      `1: ${missing('user_id', 'user 91')}`,
      `2: ${missing('organization_id', 'organization 92')}`,
      `3: ${missing('product_id', 'product 93')}`,
      `4: ${missing('proctor_id', 'user 94')}`,
      `5: ${missing('proctor_id', 'user 95')}`,
    ])
  })

  test('refuses a reference to a row that the same file deletes, before or after it', async () => {
    const before = [removal('user', PROCTOR), removal('organization', ORGANIZATION)]
    expect(await refused([], [...before, assessment(10), removal('product', PRODUCT)])).toEqual([
      '3: organization_id: organization 10 is deleted by line 2 (delete this, too, or keep the organization)',
      '3: proctor_id: user 77 is deleted by line 1 (delete this, too, or archive the user)',
      '3: product_id: product 1 is deleted by line 4 (delete this, too, or keep the product)',
    ])
  })

  test('refuses to delete a row that a stored assessment needs', async () => {
    const before = [educator(3), assessment(10), multiPart(20, [part(21, { proctor_id: 3 })])]
    const removals = [
      removal('user', 3),
      removal('user', EDUCATOR),
      removal('organization', ORGANIZATION),
      removal('product', PRODUCT),
    ]
    expect(await refused(before, [...removals, educator(9)])).toEqual([
      '1: user 3 cannot be deleted: assessment 20 needs it (delete that, too, or archive the user)',
      '2: user 501 cannot be deleted: assessment 10 needs it (delete that, too, or archive the user)',
      '3: organization 10 cannot be deleted: assessment 10 needs it (delete that, too, or keep the organization)',
      '4: product 1 cannot be deleted: assessment 10 needs it (delete that, too, or keep the product)',
    ])
  })

  const IS_ASSESSMENT = (id: number) => `part ${id} has the id of an assessment`
  const ALSO_OF_10 = (id: number) => `part ${id} is also a part of assessment 10`
  const OF_20 = (id: number) => `assessment ${id} has the id of a part of assessment 20`
  // More reasons may be reported, also against the other line with the same id.
  test.each<[string, Line[], Line[], string[]]>([
    ['a part, an assessment', [], [parted(10, 11, 12), assessment(12)], [`1: ${IS_ASSESSMENT(12)}`]],
    ['an assessment, a part', [], [parted(12, 13), parted(10, 11, 12)], [`2: ${IS_ASSESSMENT(12)}`]],
    ['a part, a stored assessment', [assessment(10)], [parted(20, 10)], [`1: ${IS_ASSESSMENT(10)}`]],
    ['an assessment, a stored part', [parted(20, 21, 22)], [assessment(21)], [`1: ${OF_20(21)}`]],
    ['one with parts, a stored part', [parted(20, 21, 22)], [parted(22, 23)], [`1: ${OF_20(22)}`]],
    ['two parts', [], [parted(10, 11), parted(20, 21, 11)], [`2: ${ALSO_OF_10(11)}`]],
    ['a part, a stored part', [parted(10, 11)], [parted(20, 11)], [`1: ${ALSO_OF_10(11)}`]],
    ['a part, one kept', [parted(10, 11, 12)], [parted(20, 12), parted(10, 12)], [`1: ${ALSO_OF_10(12)}`]],
    ['two parts of one line', [], [parted(10, 11, 11)], ['1: two parts have the same id']],
  ])('refuses an id that is used twice: %s', async (_, before, lines, expected) => {
    expect(await refused(before, lines)).toEqual(expect.arrayContaining(expected))
  })

  test('refuses a part of several assessments at every line that repeats it', async () => {
    const lines = [10, 20, 30, 40].map(id => parted(id, 5))
    const reported = (await refused([], lines)).map(text => text.split(':')[0])
    expect([...new Set(reported)]).toEqual(['2', '3', '4'])
  })

  test('reports all bad lines in order, causes before consequences, with the line numbers that an editor shows', async () => {
    const lines = [
      '\ufeff{"type":"user","id":5,"name":"x"}\r',
      'nonsense\r',
      '\r',
      '{"type":"user","id":6}\r',
      assessment(10, { user_id: 99 }),
      '   ',
      'x'.repeat(1_100_000),
      '{"type":"school","id":1}',
    ]
    expect(await refused([], lines)).toEqual([
      `2: ${NO_JSON}`,
      '4: name is missing',
      '7: longer than 1048576 characters',
      `8: ${NO_TYPE}`,
      `5: ${missing('user_id', 'user 99')}`,
    ])
  })

  test('loads nothing if only the last of 12,000 lines is bad', async () => {
    const many = range(12_000, index => assessment(1000 + index))
    const lines = [...REFERENCED, assessment(10, { proctor_id: EDUCATOR }), ...many, 'nonsense']
    expect(await refused([assessment(10)], lines)).toEqual([`12006: ${NO_JSON}`])
  })
})
