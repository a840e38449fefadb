import { describe, expect, test } from 'bun:test'
import {
  assessment,
  EDUCATOR,
  educator,
  multiPart,
  ORGANIZATION,
  organization,
  PROCTOR,
  PRODUCT,
  part,
  proctor,
  product,
  REFERENCED,
  removal,
} from '../support/fixtures.ts'
import { importLines, staleRecords, useDatabase } from '../support/import.ts'

const counts = (inserted: number, updated: number, unchanged: number, deleted: number) => ({
  inserted,
  updated,
  unchanged,
  deleted,
})
const none = counts(0, 0, 0, 0)

describe('the summary of an import', () => {
  const database = useDatabase()

  async function summaryOf(...lines: object[]) {
    const result = await importLines(database.sql, ...lines)
    if (!result.loaded) throw new Error(JSON.stringify(result.problems))
    return result.summary
  }

  test('counts inserted rows by type; an assessment without parts counts one part', async () => {
    expect(await summaryOf(...REFERENCED, assessment(10), multiPart(20, [21, 22]))).toEqual({
      organizations: counts(1, 0, 0, 0),
      products: counts(1, 0, 0, 0),
      users: counts(2, 0, 0, 0),
      assessments: counts(2, 0, 0, 0),
      assessment_parts: counts(3, 0, 0, 0),
    })
  })

  test('counts changed rows and unchanged rows separately', async () => {
    await summaryOf(
      ...REFERENCED,
      product(2),
      assessment(10),
      assessment(11),
      multiPart(20, [21, 22]),
      multiPart(30, [31]),
    )
    const summary = await summaryOf(
      organization(ORGANIZATION, 'x'),
      organization(2),
      product(PRODUCT),
      educator(EDUCATOR, { seid: '5' }),
      proctor(PROCTOR),
      assessment(10),
      assessment(11, { product_id: 2 }),
      multiPart(20, [22, 21]),
      multiPart(30, [31]),
      assessment(40),
    )
    expect(summary).toEqual({
      organizations: counts(1, 1, 0, 0),
      products: counts(0, 0, 1, 0),
      users: counts(0, 1, 1, 0),
      assessments: counts(1, 2, 2, 0),
      assessment_parts: counts(1, 2, 3, 0),
    })
    expect(await staleRecords(database.sql)).toBeEmpty()
  })

  test.each([
    ['it gains a part', multiPart(20, [21, 22, 23]), counts(1, 0, 2, 0)],
    ['it loses a part', multiPart(20, [21]), counts(0, 0, 1, 1)],
    ['a part has another name', multiPart(20, [part(21), part(22, { name: 'x' })]), counts(0, 1, 1, 0)],
    ['its parts become one', assessment(20), counts(1, 0, 0, 2)],
  ])('counts an assessment as updated if %s, and counts its parts', async (_, changed, parts) => {
    await summaryOf(...REFERENCED, multiPart(20, [21, 22]))
    const first = await summaryOf(changed)
    expect([first.assessments, first.assessment_parts]).toEqual([counts(0, 1, 0, 0), parts])
    const { inserted, updated, unchanged } = parts
    const again = await summaryOf(changed)
    const same = counts(0, 0, inserted + updated + unchanged, 0)
    expect([again.assessments, again.assessment_parts]).toEqual([counts(0, 0, 1, 0), same])
  })

  test('counts equal lines for one id once', async () => {
    const summary = await summaryOf(...REFERENCED, assessment(10), assessment(10), educator(EDUCATOR))
    expect([summary.users, summary.assessments]).toEqual([counts(2, 0, 0, 0), counts(1, 0, 0, 0)])
  })

  test('counts deleted rows, and the deletion of an absent row as unchanged', async () => {
    await summaryOf(...REFERENCED, educator(3), assessment(10))
    expect(await summaryOf(removal('assessment', 10), removal('user', 3), removal('user', 404))).toEqual({
      organizations: none,
      products: none,
      users: counts(0, 0, 1, 1),
      assessments: counts(0, 0, 0, 1),
      assessment_parts: counts(0, 0, 0, 1),
    })
  })
})
