import { sql } from 'drizzle-orm'
import type { ServingDatabase } from '../../database/pool.ts'
import { statement } from '../../database/statement.ts'

/** The time zone of the platform, which the description of the API names. */
export class PlatformTimeZone {
  private known: string | undefined

  constructor(private readonly db: Pick<ServingDatabase, 'forRequest'>) {}

  /** What it is now. If the database does not answer: what it was last, or undefined. */
  async read(request: Request): Promise<string | undefined> {
    const [row] = await read(this.db.forRequest({ signal: request.signal }), {}).catch(() => [])
    this.known = row?.time_zone ?? this.known
    return this.known
  }
}

const read = statement<Record<string, never>, { time_zone: string }>(
  sql`select time_zone from export_state`,
  false,
)
