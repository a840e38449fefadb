import { beforeAll, expect, test } from 'bun:test'
import { PageMemory } from '../../../src/assessments/page-memory.ts'
import type { Oracle, Scope } from '../../support/oracle.ts'
import { readOracle } from '../../support/stored-platform.ts'
import { useDatabase } from './database.ts'
import { issueTokens, type ListParameters, readBody, rightPage, SORTED } from './questions.ts'
import { kindsOf } from './statements.ts'
import { EMPTY, PRODUCTS } from './world.ts'

/** Pages beyond the offsets that prepared statements are used for, in lists that are walked. */

/** The scopes contain five sixths of these records. */
const RECORDS = 13_200
const COUNT = (RECORDS * 5) / 6
const SCOPES: Scope[] = [
  { organizations: [1, 2, 3, 4, 5], products: PRODUCTS },
  { organizations: [1, 2, 3, 4, 5, ...EMPTY], products: PRODUCTS },
]

const db = useDatabase(RECORDS)
let oracle: Oracle

beforeAll(async () => {
  await issueTokens(db.sql, ...SCOPES)
  oracle = await readOracle(db.sql)
})

const OFFSETS = [100, 101, 9_900, 9_901, 10_555, COUNT - 100, COUNT - 37, COUNT - 1, COUNT, COUNT + 1]

test.each(SORTED)('far pages by $sort $order are right, first counted and then from cursors', async order => {
  const parameters: ListParameters = { ...order, filter: 0, size: 100 }
  for (const scope of SCOPES) {
    for (const offset of OFFSETS) {
      const memory = new PageMemory()
      db.sent = []
      expect(await readBody(db.pool, memory, scope, parameters, offset)).toBe(
        rightPage(oracle, scope, parameters, offset),
      )
      expect(kindsOf(db.sent)).toEqual(['kept'])
      for (const next of [offset, offset + 100])
        expect(await readBody(db.pool, memory, scope, parameters, next)).toBe(
          rightPage(oracle, scope, parameters, next),
        )
    }
  }
})
