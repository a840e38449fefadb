import type { ServingDatabase } from '../database/pool.ts'
import { compareSchema } from '../database/schema-record.ts'
import { whatPathMisses } from '../database/search-path.ts'
import type { Runner } from '../database/statement.ts'
import type { Write } from '../database/writes.ts'
import { tryRecording } from '../disclosures/record.ts'
import { Failure } from '../errors.ts'
import { tryIssuing } from '../oauth/tokens.ts'
import { singleFlight } from '../single-flight.ts'
import { readDisclosureState } from '../tables/disclosure-state.ts'
import { pageBlockers } from '../tables/page-blockers.ts'
import { within } from '../timeouts.ts'
import { type Check, unlessBusy } from './readiness.ts'

/** What requests need of the database: that it answers, that its schema is current, and that it can be written. */
export function databaseChecks(database: ServingDatabase): Check[] {
  return [
    { name: 'database', run: singleFlight(() => database.trouble()) },
    { name: 'schema', after: 'database', run: unlessBusy(database, () => schemaTrouble(database)) },
    writableCheck(database),
    locksCheck(database),
  ]
}

/**
 * The check of what the service writes. Without tokens, pages are still answered; without recordings, none is. What the
 * database has refused is tried again: requests, which would show the end of that, may not come.
 */
function writableCheck(database: ServingDatabase): Check {
  const { writes } = database
  let mustRecord = true
  const tryWrites = unlessBusy(database, async () => {
    const isReadOnly = await database.checkReadOnly()
    const isRefused = WRITES.some(write => writes.why(write) !== undefined)
    if (isRefused) mustRecord = await isRecording(database)
    if (isReadOnly && mustRecord) writes.refused('read-only', 'disclosures')
    if (!isReadOnly) for (const write of needed()) await tryAgain(database, write)
    return undefined
  })
  const needed = () => WRITES.filter(write => write === 'tokens' || mustRecord)
  const isWithheld = () => mustRecord && writes.why('disclosures') !== undefined
  const run = async () => {
    const tried = tryWrites()
    // A write may wait for a standby for longer than a probe: what was found before is known meanwhile.
    await (isWithheld() ? within(RETRY_MS, tried, undefined) : tried)
    const troubles = needed().flatMap(write => writes.why(write) ?? [])
    return troubles.length > 0 ? troubles.join('; ') : undefined
  }
  const goesOn = () => (isWithheld() ? undefined : 'pages and records are answered')
  return { name: 'writable', after: 'database', run, goesOn }
}

/** How long a check waits for a write that it tries again. */
const RETRY_MS = 1000

/** How long this check waits for a connection: those of the pool may all wait for the lock. */
const LOCKS_TIMEOUT_MS = 1000

/**
 * The check of locks on tables that pages need. It goes on while the pool is busy, because the pages that wait keep it so.
 * A warning: a balancer that sent no requests to any instance would change nothing, and the lock may end at once.
 */
function locksCheck(database: ServingDatabase): Check {
  let last: string | undefined
  const read = singleFlight(async () => {
    const blockers = await pageBlockers(database)
    const locks = blockers.map(({ pid, tables }) => {
      // Not its name, which another program has chosen.
      const who = pid === null ? 'a prepared transaction' : `process ${pid}`
      return `${who} of Postgres locks ${tables.join(', ')}, or waits to`
    })
    last = locks.length === 0 ? undefined : locks.join('; ')
    return last
  })
  const run = async () => await within(LOCKS_TIMEOUT_MS, read(), last).catch(() => last)
  return { name: 'locks', after: 'database', run, goesOn: () => 'pages wait for it' }
}

const isRecording = async (db: Runner) => (await readDisclosureState(db))?.isOn === true

const WRITES: Write[] = ['tokens', 'disclosures']
const TRIES: Record<Write, (db: Runner) => Promise<void>> = { tokens: tryIssuing, disclosures: tryRecording }

/** Tries a write that was refused. */
async function tryAgain(database: ServingDatabase, write: Write): Promise<void> {
  if (database.writes.why(write) === undefined) return
  await TRIES[write](database.forRequest({ writes: write }))
    .then(() => database.writes.accepted(write))
    .catch(() => {})
}

/** A newer schema is no fault: in an upgrade all processes meet it before they restart, and all failing is an outage. */
async function schemaTrouble(db: Runner): Promise<string | undefined> {
  try {
    const { missing } = await compareSchema(db)
    if (missing.length === 0) return undefined
    return (
      (await whatPathMisses(db)) ?? `behind by ${missing.length} (${missing.join(', ')}): run axport migrate`
    )
  } catch (error) {
    if (error instanceof Failure) return undefined
    throw error
  }
}
