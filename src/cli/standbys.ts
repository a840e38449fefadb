import { Option } from '@commander-js/extra-typings'
import { databaseUrl, setting, urlOf } from '../config.ts'
import { Failure, IncompleteFailure, UncertainFailure } from '../errors.ts'
import { type Database, openingOf } from '../postgres/database.ts'
import { closedError, reasonOf } from '../postgres/failures.ts'
import type { PoolBounds } from '../postgres/pool/bounds.ts'
import type { StateLog } from '../postgres/pool/pool-state.ts'
import type { ServingDatabase } from '../postgres/pool/serving-database.ts'
import { type StandbyAddress, standbyAddresses } from '../postgres/standby/addresses.ts'
import { primaryStatus, unreplayed } from '../postgres/standby/replayed.ts'
import { Standbys } from '../postgres/standby/standbys.ts'
import type { CommandSql } from '../postgres/transaction/transact.ts'
import { readDuration } from './arguments.ts'
import { type Change, changing, settled, waitUntil } from './changing.ts'
import { withDatabase } from './with-database.ts'

/** The servers of DATABASE_READ_URL; none when it is not set. @throws Failure for wrong settings */
export function configuredStandbys(): StandbyAddress[] {
  if (urlOf('DATABASE_READ_URL') === undefined) return []
  if (databaseUrl().startsWith('embedded:'))
    throw new Failure(
      'DATABASE_READ_URL goes with a Postgres in DATABASE_URL: unset it for the built-in database',
    )
  return standbyAddresses(() => {
    const url = urlOf('DATABASE_READ_URL')
    if (url === undefined) throw new Failure('DATABASE_READ_URL is not set any more')
    return url
  })
}

/** The standbys that a serving process reads from; undefined when DATABASE_READ_URL is not set. */
export async function openStandbys(
  database: Database,
  primary: ServingDatabase,
  bounds: PoolBounds,
  log: StateLog,
): Promise<Standbys | undefined> {
  const servers = database.kind === 'postgres' ? configuredStandbys() : []
  if (servers.length === 0) return undefined
  return await Standbys.open({
    servers: servers.map(({ name, url }) => ({ name, open: openingOf(url, bounds, log) })),
    primary: primary.pool.open,
    bounds,
    maxLagMs: setting('READ_LAG'),
    log,
  })
}

/** The option of every command that changes what integrations may read. In seconds. */
export const waitOption = () =>
  new Option('--wait <duration>', 'how long to wait until the standbys of DATABASE_READ_URL have the change')
    .argParser(text => (text.trim() === '0s' ? 0 : readDuration(text)))
    .default(30, '30s')

/**
 * Changes what integrations may read, reports the result, and then waits until every standby has replayed the change.
 * The report comes first: a new secret is shown only once, and the wait can fail.
 * @param wait seconds at most; undefined for a change that no request on a standby looks at
 * @param report gets an uncertain change, too
 * @throws IncompleteFailure that names the standbys without the change, which is made all the same
 */
export async function changeAndWait<Result>(
  change: Change,
  wait: number | undefined,
  work: (sql: CommandSql) => Promise<Result>,
  report: (result: Result, failure: UncertainFailure | undefined) => Promise<void>,
): Promise<void> {
  // A wrong setting must be found before the change.
  const servers = wait === undefined ? [] : configuredStandbys()
  const run = async ({ sql }: Database) => {
    const { result, failure } = await settled(work(sql))
    const uncertain = failure instanceof UncertainFailure ? failure : undefined
    await report(result, uncertain)
    if (failure) throw failure
    await waitForStandbys(sql, servers, wait ?? 0, change)
  }
  await changing(change, interruption => withDatabase(run, interruption))
}

/**
 * Waits until every server has replayed all that was written so far.
 * @param wait seconds at most; less if the command is interrupted
 * @throws IncompleteFailure that names the servers that have not
 */
export async function waitForStandbys(
  sql: CommandSql,
  servers: StandbyAddress[],
  wait: number,
  change: Change,
): Promise<void> {
  if (servers.length === 0) return
  const advice = waitUntil(change, 'axport doctor shows that the standbys have caught up')
  const interrupted = new Promise<never>((_, reject) =>
    sql.command?.interruption.signal.addEventListener('abort', () => reject(closedError())),
  )
  const replay = primaryStatus(sql).then(status => unreplayed(servers, status, wait * 1000, true))
  const missing = await Promise.race([replay, interrupted]).catch(error => {
    const state = `it is not known whether the standbys have replayed that (${reasonOf(error)})`
    throw new IncompleteFailure(`${change.done()}, and ${state}: ${advice}`)
  })
  if (missing.length === 0) return
  const named = missing.map(({ name, why }) => `${name} (${why})`).join(', ')
  throw new IncompleteFailure(
    `${change.done()}, and standbys have not replayed that yet: ${named}; ${advice}; a service that reads there may use the state before`,
  )
}
