import type { Sql } from 'postgres'
import type { DisclosureFilter } from '../disclosures/disclosure-filter.ts'
import { listRecipients } from '../disclosures/recipients.ts'
import { Failure, UsageFailure } from '../errors.ts'
import { findByEmail, findPerson } from '../tables/people.ts'
import { readLine } from './confirm.ts'
import { counted, tableOf } from './output.ts'
import { recipientsTable } from './recipients.ts'

/** The email of --email; "-" reads it from standard input. There it is neither in the list of processes nor in a history. */
export async function readEmail(given: string): Promise<string> {
  if (given === '-' && process.stdin.isTTY) process.stderr.write('Email: ')
  const email = (given === '-' ? await readLine() : given)?.trim()
  if (!email) throw new UsageFailure('no email was given: --email ADDRESS, or --email - and standard input')
  return email
}

/**
 * Shows who has this email by `show`, and returns the id.
 * @throws Failure unless it is one person; it does not repeat the email
 */
export async function findOne(sql: Sql, email: string, show: (text: string) => unknown): Promise<string> {
  const people = await findByEmail(sql, email)
  const cells = people.map(({ id, name, email, recordStatus, assessments, proctored }) =>
    [id, name, email, recordStatus, assessments, proctored].map(String),
  )
  const heading = ['user id', 'name', 'email', 'record', 'assessments', 'proctored']
  if (people.length > 0) await show(`${tableOf(heading, cells)}\n`)
  const [person, ...others] = people
  if (person && others.length === 0) return person.id
  if (person) throw new Failure(`${people.length} people have this email: name one with --user`)
  throw new Failure(
    'nobody in the data has this email: ask the platform for the id, and use --user, which also finds people who ' +
      'are not in the data any more',
  )
}

/**
 * Shows, by `show`, which integrations were sent records of others in which this person is a proctor. The record has no
 * proctors, so these are the records whose parts name the person today, and the text says so.
 */
export async function showProctored(
  sql: Sql,
  { userId = '', ...filter }: DisclosureFilter,
  show: (text: string) => unknown,
): Promise<void> {
  const { proctored = 0 } = (await findPerson(sql, userId)) ?? {}
  if (proctored === 0) return void process.stderr.write(`${EDUCATORS}.\n`)
  const recipients = await listRecipients(sql, { ...filter, proctorId: userId })
  const assessments = `${counted(proctored, 'assessment')} of others`
  await show(`\nAs a proctor in ${assessments}, by the parts of today:\n${recipientsTable(recipients)}`)
  process.stderr.write(`${EDUCATORS}: ${BY_TODAY}.\n`)
}

const EDUCATORS = 'The record lists educators, not proctors'

/** What such a list cannot know. */
export const BY_TODAY =
  'records with the person as a proctor are found by the parts of today, and may have named somebody else when they were sent'
