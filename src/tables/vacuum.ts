import type { Sql } from 'postgres'
import { IncompleteFailure } from '../errors.ts'
import { whyFailed } from '../postgres/failures.ts'

/**
 * VACUUM and ANALYZE after a commit: index-only scans need the one at once, and plans the other. Postgres only warns a role
 * that may not vacuum.
 * @param tables their names
 * @param done what was committed, as "all was loaded"
 * @param result of the command
 * @param isNeeded is asked first
 * @throws IncompleteFailure
 */
export async function vacuum(
  db: Sql,
  tables: string[],
  done: string,
  result: unknown,
  isNeeded = async () => true,
): Promise<void> {
  const statement = `vacuum (analyze) ${tables.join(', ')}`
  try {
    if (await isNeeded()) await db.unsafe(statement)
  } catch (error) {
    const message = `${done}, and VACUUM failed (${whyFailed(error)}): pages may be slow until you run ${statement} in psql`
    throw new IncompleteFailure(message, result)
  }
}
