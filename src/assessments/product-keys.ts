import { type SQL, sql } from 'drizzle-orm'
import { exportRecords as r } from '../../db/schema.ts'
import { otherProducts } from './search.ts'

/**
 * The sort key of a record of a product, by the index of products; null if it has no record. Of an equality the planner expects
 * so many matches that it reads the table, to its end for a product without records: 7 s for 300 of them, 60,000 records.
 */
export function nameKeyOf(product: SQL): SQL {
  return sql`(select ${r.productNameKey} from ${r} where ${r.productId} between ${product} and ${product} limit 1)`
}

/**
 * The sort keys of the products that a search does not find, one for each. Writes past the triggers may have left several, so
 * an exact count uses none. Nor does one with other filters, whose columns the index of the sort keys does not have.
 */
export const otherKeys = sql`array(select ${nameKeyOf(sql`other.id`)} from ${otherProducts})`
