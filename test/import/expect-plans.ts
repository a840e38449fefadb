import { expect } from 'bun:test'
import { importSource } from '../../src/import/import.ts'
import { watchPlans } from '../support/plans.ts'
import { migratedDatabase } from '../support/service.ts'
import { type Format, LOADS, sourceOf, storedLines } from './loads.ts'

/**
 * A statement touches a row a few times for each index and trigger: 20 times at most here. A nested loop without an
 * index touches every row once for each other one.
 */
const MOST_TOUCHES = 40

/** Loads `count` assessments into a database with so many, and expects that no statement reads a table for each row. */
export async function expectNoLoops(
  load: string,
  count: number,
  stored: number,
  format: Format,
): Promise<void> {
  const { lines, options, erased } = LOADS[load]?.(stored, count) ?? { lines: [] }
  const before = stored > 0 ? storedLines(stored) : []
  const { url, drop } = await migratedDatabase()
  const { sql, takePlans, close } = await watchPlans(url)
  try {
    if (before.length > 0)
      expect(await importSource(sql, sourceOf(before, 'ndjson'), () => {})).toMatchObject({ loaded: true })
    if (erased) await sql`insert into erasures (user_id) select unnest(${erased}::bigint[])`
    takePlans()
    const result = await importSource(sql, sourceOf(lines, format), () => {}, options)
    expect(result).toMatchObject({ loaded: true })
    const plans = takePlans()
    expect(plans.length).toBeGreaterThan(20)
    const all = [...before, ...lines].length
    expect(plans.filter(({ rows }) => rows > MOST_TOUCHES * all)).toEqual([])
  } finally {
    await close()
    await drop()
  }
}
