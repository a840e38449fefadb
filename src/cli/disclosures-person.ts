import type { Sql } from 'postgres'
import { Failure, UsageFailure } from '../errors.ts'
import { findByEmail, findPerson } from '../tables/people.ts'
import { readLine } from './confirm.ts'
import { counted, tableOf } from './output.ts'

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

/** Says what the record cannot know about a person. */
export async function noteProctors(sql: Sql, userId: string): Promise<void> {
  const { proctored = 0 } = (await findPerson(sql, userId)) ?? {}
  const rest =
    proctored === 0
      ? ''
      : `; this person proctored ${counted(proctored, 'assessment')} of others: docs/operate/privacy.md has the SQL ` +
        'that shows who was sent one'
  process.stderr.write(`The record lists educators, not proctors${rest}.\n`)
}
