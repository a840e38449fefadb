import { parseListQuery } from '../../src/assessments/list-query.ts'
import { pairsIn } from '../../src/assessments/query-string.ts'
import type { ListQuery } from '../../src/contract.ts'

/** The list query of a query string. */
export const listQuery = (queryString: string): ListQuery => parseListQuery(pairsIn(queryString))
