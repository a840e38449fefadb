import { sql } from 'drizzle-orm'
import type { Sql } from 'postgres'
import { isoOf, rowsOf } from '../database/orm.ts'
import { onlyRow } from '../database/statement.ts'
import { findPerson, type Person } from '../tables/people.ts'
import type { Question } from './question.ts'
import { readRecordState } from './record.ts'
import { integrationsShown, type Shown } from './shown.ts'
import type { SearchProgress } from './slices.ts'

/** Everything that a report says to the person who asked, and nothing of other people. Instants are ISO 8601 in UTC. */
export interface PersonalReport {
  madeAt: string
  /** Of the platform, by its IANA name. */
  timeZone: string
  /** The id of the person, decimal. */
  userId: string
  /** Undefined for a person who is not in the data any more. */
  person: Person | undefined
  /** The assessments of the person that are exported now. */
  assessments: { id: string; name: string; organization: string; certifiedOn: string }[]
  /** The days that were asked about, as people read them; null for all that is recorded. */
  period: string | null
  /** Whether answers are recorded now, and the time of the oldest one. */
  isRecording: boolean
  begins: string | null
  shown: Shown[]
}

/**
 * Reads what a report says about a person.
 * @param question for this person, whose period counts
 * @param onProgress called while the record is searched
 */
export async function reportFor(
  db: Sql,
  question: Question & { userId: string },
  onProgress: (progress: SearchProgress) => void,
): Promise<PersonalReport> {
  const { userId } = question
  const about = await rowsOf<Pick<PersonalReport, 'madeAt' | 'timeZone'>>(
    db,
    sql`
    select ${isoOf(sql`now()`)} as "madeAt", time_zone as "timeZone" from export_state`,
  )
  const assessments = await rowsOf<PersonalReport['assessments'][number]>(
    db,
    sql`
    select id, document::json->>'assessment_name' as name, document::json->>'organization_name' as organization,
      document::json->>'certified_on' as "certifiedOn"
    from export_records where user_id = ${userId} order by certified_on, id`,
  )
  const { disclosing, begins } = await readRecordState(db)
  return {
    ...onlyRow(about),
    userId,
    person: await findPerson(db, userId),
    assessments: [...assessments],
    period: periodOf(question),
    isRecording: disclosing?.isOn === true,
    begins,
    shown: await integrationsShown(db, question, onProgress),
  }
}

/** "since 2026-01-01 and until 30 days ago"; null for no limit. */
function periodOf({ since, until }: Question): string | null {
  const limits = [
    since && `since ${'day' in since ? since.day : agoText(since.ago)}`,
    until && `until ${'day' in until ? until.day : agoText(until.ago)}`,
  ].filter(limit => limit !== undefined)
  return limits.length > 0 ? limits.join(' and ') : null
}

const agoText = (seconds: number) =>
  seconds % 86_400 === 0 ? `${seconds / 86_400} days ago` : `${seconds / 3600} hours ago`
