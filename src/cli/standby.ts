import { sql } from 'drizzle-orm'
import { givenUrl } from '../config.ts'
import type { StateLog } from '../database/bounds.ts'
import { openDatabase } from '../database/database.ts'
import { describeError } from '../database/describe-error.ts'
import { rowsOf } from '../database/orm.ts'
import { readPostgresUrl } from '../database/url.ts'
import { type Db, type Outcome, ok, warning } from '../doctor/finding.ts'
import { Failure } from '../errors.ts'

/** The URL of a standby; undefined without DATABASE_READ_URL. @throws Failure if it cannot be read */
export function standbyUrl(): string | undefined {
  const url = givenUrl('DATABASE_READ_URL')
  if (url !== undefined) inItsName(() => readPostgresUrl(url))
  return url
}

/** The log of what happens with the standby, in its name. */
export function standbyLog(log: StateLog): StateLog {
  const of = (details: { reason?: string }) => ({
    server: 'standby',
    ...details,
    ...(details.reason !== undefined && { reason: renamed(details.reason) }),
  })
  return {
    info: (details, message) => log.info(of(details), message),
    warn: (details, message) => log.warn(of(details), message),
  }
}

/** Errors about DATABASE_URL as errors about DATABASE_READ_URL. */
function inItsName<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    throw error instanceof Failure ? new Failure(renamed(error.message)) : error
  }
}

const renamed = (message: string) => message.replaceAll('DATABASE_URL', 'DATABASE_READ_URL')

/** Whether pages can be read from DATABASE_READ_URL; nothing if it is not set. The primary reads them otherwise. */
export async function canStandbyServe(primary: Db): Promise<Outcome[]> {
  const url = standbyUrl()
  if (url === undefined) return []
  try {
    const database = await openDatabase(url, 1)
    try {
      const [there, here] = [await versionOf(database.sql), await versionOf(primary)]
      if (!there.isStandby)
        return [warning('DATABASE_READ_URL names no standby: the primary reads all pages')]
      if (there.version === here.version) return [ok('DATABASE_READ_URL names a standby with the same lists')]
      return [
        warning(
          'the standby of DATABASE_READ_URL has other lists than the primary now: it is behind, or of another database',
        ),
      ]
    } finally {
      await database.close()
    }
  } catch (error) {
    return [warning(`${renamed(describeError(error))}; until then the primary reads all pages`)]
  }
}

async function versionOf(db: Db): Promise<{ isStandby: boolean; version: string | undefined }> {
  const [row] = await rowsOf<{ isStandby: boolean; version: string | null }>(
    db,
    sql`select pg_is_in_recovery() as "isStandby", (select version::text from export_version) as version`,
  )
  return { isStandby: row?.isStandby === true, version: row?.version ?? undefined }
}
