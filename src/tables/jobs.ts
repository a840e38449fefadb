import type { Sql } from 'postgres'

/** The jobs of which the database keeps the last success. */
type Job = 'backup' | 'rehearsal'

/**
 * Notes that a job has succeeded, for the metrics of the services.
 * @param at an instant as text; undefined for now
 * @returns why that was not possible; undefined if it was done
 */
export async function noteJob(sql: Sql, job: Job, at?: string): Promise<string | undefined> {
  try {
    await sql`select note_job(${job}, coalesce(${at ?? null}::text::timestamptz, clock_timestamp()))`
    return undefined
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === '42501') return 'this role may not'
    if (code === '25006') return 'the database is read-only'
    throw error
  }
}
