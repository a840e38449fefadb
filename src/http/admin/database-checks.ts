import { Failure } from '../../errors.ts'
import { tryIssuing } from '../../oauth/tokens.ts'
import type { ServingDatabase } from '../../postgres/pool/serving-database.ts'
import { compareSchema } from '../../postgres/schema/schema-record.ts'
import type { Replicas } from '../../postgres/standby/replicas.ts'
import { shared } from '../../within.ts'
import { primaryCheck } from './readers.ts'
import { type Check, unlessBusy } from './readiness.ts'

/** What requests need of the database: that it answers, that its schema is current, and that it can be written. */
export function databaseChecks(pool: ServingDatabase, replicas?: Replicas, wasRecording = false): Check[] {
  return [
    replicas
      ? primaryCheck(pool, replicas, wasRecording)
      : { name: 'database', run: shared(() => pool.trouble()) },
    { name: 'schema', after: 'database', run: unlessBusy(pool, () => schemaTrouble(pool)) },
    { name: 'writable', after: 'database', run: unlessBusy(pool, () => writeTrouble(pool)) },
  ]
}

/**
 * A standby answers, but no token can be issued on it. After a full disk or the like a write is tried here: a service
 * that is not ready may get no requests that would show the end of it.
 */
async function writeTrouble(pool: ServingDatabase): Promise<string | undefined> {
  const { availability } = pool
  if (!(await pool.checkReadOnly()) && availability.unwritable !== undefined)
    await tryIssuing(pool)
      .then(() => availability.noteWritable())
      .catch(() => {})
  return availability.unwritable
}

/**
 * A newer schema is no fault here: during an upgrade every process meets it between the migration and its restart, and
 * all of them failing at once would be an outage.
 */
async function schemaTrouble(pool: ServingDatabase): Promise<string | undefined> {
  try {
    const { missing } = await compareSchema(pool)
    return missing.length === 0
      ? undefined
      : `behind by ${missing.length} (${missing.join(', ')}): run axport migrate`
  } catch (error) {
    if (error instanceof Failure) return undefined
    throw error
  }
}
