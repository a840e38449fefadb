import type { ServingDatabase } from './pool/serving-database.ts'

/**
 * Whether the database takes no writes at present, as a standby does. What is found is remembered in the pool's
 * watch, for those who write beside a request and are not to try in vain.
 * @throws as the pool
 */
export async function isReadOnly(pool: ServingDatabase): Promise<boolean> {
  const rows = await pool.unsafe(`select current_setting('transaction_read_only') as value`, [], {
    prepare: false,
  })
  const isReadOnly = (rows as { value: string }[])[0]?.value === 'on'
  pool.availability.sawReadOnly(isReadOnly)
  return isReadOnly
}
