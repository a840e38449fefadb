import { Failure } from '../../errors.ts'
import { tryIssuing } from '../../oauth/tokens.ts'
import { readDisclosing } from '../../postgres/disclosing.ts'
import type { ServingDatabase } from '../../postgres/pool/serving-database.ts'
import { compareSchema } from '../../postgres/schema/schema-record.ts'
import type { Replicas } from '../../postgres/standby/replicas.ts'
import { shared } from '../../within.ts'
import type { Check } from './readiness.ts'

/**
 * What requests need of the database: that it answers, that its schema is current, and that it can be written.
 * @param replicas standbys, which answer without the primary, unless disclosures have to be recorded there
 * @param wasRecording whether disclosures were recorded when the service was opened
 */
export function databaseChecks(pool: ServingDatabase, replicas?: Replicas, wasRecording = false): Check[] {
  let isRecording = wasRecording
  const readRecording = unlessBusy(pool, async () => {
    isRecording = (await readDisclosing(pool))?.isOn === true
    return undefined
  })
  const trouble = async () => {
    const trouble = await pool.trouble()
    // A schema without the row is reported by the check after this one.
    if (trouble === undefined) await readRecording().catch(() => {})
    return trouble
  }
  const goesOn = () =>
    !isRecording && replicas?.readers().some(({ server, serves }) => serves && server !== 'primary')
      ? 'standbys answer the tokens that they know, and no new ones are issued'
      : undefined
  return [
    { name: 'database', run: shared(trouble), goesOn },
    { name: 'schema', after: 'database', run: unlessBusy(pool, () => schemaTrouble(pool)) },
    { name: 'writable', after: 'database', run: unlessBusy(pool, () => writeTrouble(pool)) },
  ]
}

/** While all connections are in use, the last result: a probe must not wait for a connection as well. */
export function unlessBusy<Result>(
  pool: ServingDatabase,
  read: () => Promise<Result | undefined>,
): () => Promise<Result | undefined> {
  let last: Result | undefined
  const reread = shared(async () => {
    last = await read()
    return last
  })
  return async () => (pool.isBusy() ? last : await reread())
}

/**
 * A standby answers, but no token can be issued on it. After a full disk or the like a write is tried here: a service
 * that is not ready may get no requests that would show the end of it.
 */
async function writeTrouble(pool: ServingDatabase): Promise<string | undefined> {
  if (!(await pool.checkReadOnly()) && pool.availability.unwritable !== undefined) {
    const isPossible = await tryIssuing(pool).then(
      () => true,
      () => false,
    )
    if (isPossible) pool.availability.noteWritable()
  }
  return pool.availability.unwritable
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
