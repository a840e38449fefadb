import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { exportRecords } from '../../db/schema.ts'
import type { Sort } from '../contract.ts'

/** The columns that filters and sorts look at: of records, or of the log of changes, which has them as they were. */
export type Columns = Record<
  | 'id'
  | 'organizationId'
  | 'productId'
  | 'userId'
  | 'seid'
  | 'isArchived'
  | 'legacyRecord'
  | 'proctorIds'
  | 'certifiedOn'
  | 'userNameKey'
  | 'proctorNameKey'
  | 'productNameKey',
  SQLWrapper
>

/** The column of a sort key. */
export function keyOf(sort: Sort, columns: Columns = exportRecords): SQL {
  const { certifiedOn, userNameKey, proctorNameKey, productNameKey } = columns
  const keys = {
    certified_on: certifiedOn,
    user_name: userNameKey,
    proctor_name: proctorNameKey,
    product_name: productNameKey,
  }
  return sql`${keys[sort]}`
}
