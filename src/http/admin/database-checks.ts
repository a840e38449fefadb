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

/** A standby issues no tokens. After a full disk a write is tried: requests, which would show its end, may not come. */
async function writeTrouble(pool: ServingDatabase): Promise<string | undefined> {
  const { availability } = pool
  if (!(await pool.checkReadOnly()) && availability.unwritable !== undefined)
    await tryIssuing(pool)
      .then(() => availability.noteWritable())
      .catch(() => {})
  return availability.unwritable
}

/** A newer schema is no fault: in an upgrade all processes meet it before they restart, and all failing is an outage. */
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
