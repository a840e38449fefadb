import { Failure } from '../../errors.ts'
import { tryIssuing } from '../../oauth/tokens.ts'
import { readDisclosing } from '../../postgres/disclosing.ts'
import type { ServingDatabase } from '../../postgres/pool/serving-database.ts'
import { compareSchema } from '../../postgres/schema/schema-record.ts'
import type { Replicas } from '../../postgres/standby/replicas.ts'
import { shared, within } from '../../within.ts'
import type { Check } from './readiness.ts'

/**
 * What requests need of the database: that it answers, that its schema is not behind, and that it can be written.
 * @param replicas standbys, which go on when the database does not answer, unless what answers show is to be recorded there
 * @param wasRecording whether what answers show was to be recorded when the service was opened
 */
export function databaseChecks(pool: ServingDatabase, replicas?: Replicas, wasRecording = false): Check[] {
  /** Whether answers were recorded when the database was last asked. */
  let isRecording = wasRecording
  const lookAtRecord = unlessBusy(pool, async () => {
    isRecording = (await readDisclosing(pool))?.isOn === true
    return undefined
  })
  const trouble = async () => {
    const trouble = await pool.trouble()
    // A schema that has no such record is the business of the check after this one.
    if (trouble === undefined) await lookAtRecord().catch(() => {})
    return trouble
  }
  const goesOn = () =>
    !isRecording && replicas?.readers().some(({ server, serves }) => serves && server !== 'primary')
      ? 'standbys answer the tokens that they know, and no new ones are issued'
      : undefined
  return [
    { name: 'database', run: shared(trouble), goesOn },
    { name: 'schema', after: 'database', run: unlessBusy(pool, () => behind(pool)) },
    { name: 'writable', after: 'database', run: unlessBusy(pool, () => unwritable(pool)) },
  ]
}

/** Milliseconds for a number: metrics are read without it rather than not at all. */
const NUMBER_PATIENCE = 1000

/** Reads a number of the data; undefined where there is none, or the database does not answer. */
type ReadNumber = () => Promise<number | undefined>

/** The version of the data, which is the newest position in the log of changes. */
export function exportVersion(pool: ServingDatabase): ReadNumber {
  return numberOf(pool, () =>
    pool.unsafe('select max(position) as value from export_changes', [], { prepare: false }),
  )
}

/** When an import last loaded all that it was given, in Unix seconds. */
export function lastImport(pool: ServingDatabase): ReadNumber {
  return numberOf(pool, () =>
    pool.unsafe('select extract(epoch from last_import_at)::text as value from export_state', [], {
      prepare: false,
    }),
  )
}

function numberOf(pool: ServingDatabase, ask: () => PromiseLike<unknown>): ReadNumber {
  const read = unlessBusy(pool, async () => {
    const value = await valueIn(ask())
    return value == null ? undefined : Number(value)
  })
  return () => within(NUMBER_PATIENCE, read(), undefined).catch(() => undefined)
}

/** What was read last, while all connections are in use: who looks must not stand in the line as well. */
function unlessBusy<Result>(
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
 * A standby answers, but no token can be issued on it. Where a statement met a full disk or the like, a write is tried:
 * a service that is not ready may get no requests that would find out.
 */
async function unwritable(pool: ServingDatabase): Promise<string | undefined> {
  if (!(await pool.checkReadOnly()) && pool.availability.unwritable !== undefined) {
    // Where there is no secret nobody could ask for a token either.
    const isPossible = await tryIssuing(pool).then(
      () => true,
      () => false,
    )
    if (isPossible) pool.availability.noteWritable()
  }
  return pool.availability.unwritable
}

/** Of the one row. */
async function valueIn(rows: PromiseLike<unknown>): Promise<string | null | undefined> {
  return ((await rows) as { value: string | null }[])[0]?.value
}

/**
 * A schema that is ahead is no fault here: it is what every process sees between the migration and the
 * restarts of an upgrade, and all of them failing at once would be an outage.
 */
async function behind(pool: ServingDatabase): Promise<string | undefined> {
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
