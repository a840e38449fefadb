import type { Sql } from 'postgres'
import { reportFor } from '../disclosures/personal.ts'
import type { Question } from '../disclosures/question.ts'
import { personalPage } from '../disclosures/report.ts'
import type { SearchProgress } from '../disclosures/slices.ts'
import { Failure, UsageFailure } from '../errors.ts'
import { writePrivate } from '../files.ts'
import { findByEmail, findPerson } from '../tables/people.ts'
import { readLine } from './confirm.ts'
import { counted, print, StatusLine, tableOf } from './output.ts'

/** An argument would stand in the list of processes, and in the history of the shell. */
export async function readEmail(): Promise<string> {
  if (process.stdin.isTTY) process.stderr.write('Email: ')
  const email = (await readLine())?.trim()
  if (!email) throw new UsageFailure('no email was given: type one, or write it to standard input')
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

/** Writes the page for a person, which only its owner can read. */
export async function writeReport(
  sql: Sql,
  question: Question & { userId: string },
  file: string,
): Promise<void> {
  const status = new StatusLine()
  const onSlice = ({ answers }: SearchProgress) => status.show(() => `looked through ${answers} answers`)
  const report = await reportFor(sql, question, onSlice).finally(() => status.clear())
  await writePrivate(file, personalPage(report))
  await print(
    `${file} has what user ${question.userId} may know: ${counted(report.shown.length, 'recipient')}\n`,
  )
}

/** Says what the record cannot know about a person. */
export async function noteProctors(sql: Sql, userId: string): Promise<void> {
  const { proctored = 0 } = (await findPerson(sql, userId)) ?? {}
  const rest =
    proctored === 0
      ? ''
      : `; this person proctored ${counted(proctored, 'assessment')} of others, and axport disclosures --assessment ID ` +
        'shows who was sent one'
  process.stderr.write(`The record lists educators, not proctors${rest}.\n`)
}
