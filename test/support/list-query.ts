import { pairsIn, sentIn } from '../../src/app/query-string.ts'
import { ListQuery } from '../../src/contract.ts'

/** The list query of a query string that is valid. */
export function listQuery(queryString: string): ListQuery {
  const read = ListQuery['~standard'].validate(sentIn(pairsIn(queryString)))
  if ('issues' in read) throw new Error(JSON.stringify(read.issues))
  return read.value
}
