import { Option } from 'commander'
import type { Sql } from 'postgres'
import { IncompleteFailure } from '../../errors.ts'
import type { ReadServer } from '../../postgres/standby/read-servers.ts'
import { primaryStatus, unreplayed } from '../../postgres/standby/replayed.ts'
import { readDuration } from '../arguments.ts'
import { standbyServers } from '../standbys.ts'
import { withDatabase } from '../with-database.ts'

/** The option of every command that changes who may read what; seconds. */
export const waitOption = () =>
  new Option('--wait <duration>', 'how long to wait until the standbys of DATABASE_READ_URL have the change')
    .argParser(text => (text.trim() === '0s' ? 0 : readDuration(text)))
    .default(30, '30s')

/**
 * Changes who may read what, says what became of it, and then waits until every standby that is read from has replayed the
 * change: from then on nobody honours the state before. It is said first: a new secret is shown once.
 * @param wait seconds at most
 * @throws IncompleteFailure that names those that have not; the change is made all the same
 */
export async function changing<Result>(
  wait: number,
  change: (sql: Sql) => Promise<Result>,
  tell: (result: Result) => Promise<void>,
): Promise<void> {
  // A wrong setting is not to be found after the change.
  const servers = standbyServers()
  await withDatabase(async ({ sql }) => {
    await tell(await change(sql))
    await untilSeen(sql, servers, wait)
  })
}

/**
 * Waits until every server has replayed all that was written so far.
 * @param wait seconds at most
 * @throws IncompleteFailure that names those that have not
 */
export async function untilSeen(sql: Sql, servers: ReadServer[], wait: number): Promise<void> {
  if (servers.length === 0) return
  const missing = await unreplayed(servers, await primaryStatus(sql), wait * 1000, true)
  if (missing.length === 0) return
  const named = missing.map(({ name, why }) => `${name} (${why})`).join(', ')
  throw new IncompleteFailure(
    `the change is made, and not seen yet by ${named}: a service that still reads there may honour the state before; ` +
      'axport doctor shows when they have caught up',
  )
}
