import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { stringify } from 'csv-stringify/sync'
import type { Sql } from 'postgres'
import { type Disclosure, eachDisclosure } from '../disclosures/each.ts'
import type { Moment, Question } from '../disclosures/question.ts'
import { describeAhead, readRecordState } from '../disclosures/record.ts'
import { integrationsShown, type Shown } from '../disclosures/shown.ts'
import type { SearchProgress } from '../disclosures/slices.ts'
import { UsageFailure } from '../errors.ts'
import { isDay } from '../parameters.ts'
import { describeDisclosing } from '../tables/disclosing.ts'
import { given, newCommand, readId } from './arguments.ts'
import { findOne, noteProctors, readEmail, writeReport } from './disclosures-person.ts'
import { escaped, print, printJson, printTable, StatusLine } from './output.ts'
import { withDatabase } from './with-database.ts'

/** axport disclosures */
export const disclosuresCommand = () =>
  newCommand(
    'disclosures',
    'Show which integrations were sent whose records.',
    `Answers are recorded after axport migrate --disclosures on, and kept for --disclosures-keep. The
record has ids only, and keeps people whose assessments were removed later. Days are days in the
platform's time zone.

Example: axport disclosures --user 501 --since 90d`,
  )
    .addOption(
      new Option('--user <id>', 'records of this educator').argParser(readId).conflicts('assessment'),
    )
    .addOption(
      new Option('--ask-email', 'ask for the email of an educator, or read it from standard input').conflicts(
        ['user', 'assessment'],
      ),
    )
    .option('--assessment <id>', 'this assessment', readId)
    .option('--integration <client-id>', 'answers to this integration, which may be deleted')
    .option('--since <when>', 'from this day on: 2026-09-01; or for the last 90d', readMoment)
    .option('--until <when>', 'until the end of this day, or until 90d ago', readMoment)
    .option('--each', 'every single answer, with its request id')
    .addOption(
      new Option('--report <file>', 'write a page of HTML for the educator who asked').conflicts([
        'each',
        'csv',
        'json',
        'assessment',
        'integration',
      ]),
    )
    .addOption(new Option('--csv', 'print CSV').conflicts('json'))
    .option('--json', 'print a JSON array')
    .action(async ({ user, askEmail, assessment, integration, since, until, each, report, ...form }) => {
      if (report !== undefined && user === undefined && !askEmail)
        throw new UsageFailure('--report is about an educator: add --user or --ask-email')
      const email = askEmail && (await readEmail())
      await withDatabase(async ({ sql }) => {
        // CSV and JSON have nothing beside their rows.
        const show = form.csv || form.json ? (text: string) => process.stderr.write(text) : print
        const userId = email === undefined ? user : await findOne(sql, email, show)
        const ids = { userId, assessmentId: assessment, clientId: integration }
        const question: Question = given({ ...ids, since, until })
        if (report !== undefined && userId !== undefined)
          await writeReport(sql, { ...question, userId }, report)
        else await (each ? printEach : printSummary)(sql, question, form)
        await noteState(sql)
        if (userId !== undefined) await noteProctors(sql, userId)
      })
    })

/** "90d" or "36h", or a day. */
function readMoment(text: string): Moment {
  const [, amount, unit] = /^(\d{1,5})([hd])$/.exec(text.trim()) ?? []
  if (amount !== undefined) return { ago: Number(amount) * (unit === 'd' ? 86_400 : 3600) }
  const day = text.trim()
  if (!isDay(day)) throw new InvalidArgumentError('Give a day as 2026-09-01, or so long ago as 90d.')
  return { day }
}

/** Says on standard error since when answers are recorded: earlier ones are not in the result. */
async function noteState(sql: Sql): Promise<void> {
  const { disclosing, begins, ahead } = await readRecordState(sql)
  const oldest = begins === null ? 'it has no answer yet' : `its oldest answer is of ${begins}`
  const state = disclosing === undefined ? 'in an unknown state' : describeDisclosing(disclosing)
  const advice = disclosing?.isOn === false ? '; axport migrate --disclosures on begins to record' : ''
  process.stderr.write(`The record is ${state}; ${oldest}${advice}.\n`)
  if (ahead !== null) process.stderr.write(`Note: ${describeAhead(ahead)}.\n`)
}

interface Form {
  csv?: true
  json?: true
}

const SUMMARY = ['client_id', 'name', 'purpose', 'times', 'first', 'last'] as const satisfies (keyof Shown)[]

/** Prints a row for each integration. */
async function printSummary(sql: Sql, question: Question, { csv, json }: Form): Promise<void> {
  const status = new StatusLine()
  const onSlice = (looked: SearchProgress) => status.show(() => progress(looked))
  const shown = await integrationsShown(sql, question, onSlice).finally(() => status.clear())
  const cells = shown.map(row => SUMMARY.map(name => String(row[name] ?? '')))
  if (json) await printJson(shown)
  else if (csv) await print(stringify([[...SUMMARY], ...cells]))
  else if (shown.length === 0) await print(NOTHING)
  else await printTable(['client id', ...SUMMARY.slice(1)], cells)
}

const EACH = [
  'at',
  'client_id',
  'request_id',
  'address',
  'name',
  'purpose',
  'filters',
  'key',
] as const satisfies (keyof Disclosure)[]

/** Prints a row for each answer, slice by slice: all of them may not fit into memory. */
async function printEach(sql: Sql, question: Question, { csv, json }: Form): Promise<void> {
  const status = new StatusLine()
  let printed = 0
  // Printed with the first rows, so that a refused question prints nothing.
  let opening = json ? '[' : csv ? stringify([[...EACH]]) : ''
  for await (const { rows, progress: looked } of eachDisclosure(sql, question)) {
    const text = () => {
      if (json) return rows.map((row, at) => (printed + at > 0 ? ',' : '') + JSON.stringify(row)).join('')
      const cells = rows.map(row => EACH.map(name => [row[name] ?? []].flat().join(' ')))
      if (csv) return stringify(cells)
      return [...(printed === 0 ? [HEADING] : []), ...cells].map(lineOf).join('')
    }
    if (rows.length > 0) {
      status.clear()
      await print(opening + text())
      opening = ''
    }
    printed += rows.length
    status.show(() => progress(looked))
  }
  status.clear()
  if (json) await print(`${opening}]\n`)
  else if (csv) await print(opening)
  else if (printed === 0) await print(NOTHING)
}

const HEADING = ['time', 'client id', 'request id', 'address', 'name', 'purpose', 'filters']
/** Columns of known widths come first; the widths of the others are known only at the end. */
const WIDTHS = [20, 24, 36, 15]

const lineOf = (cells: string[]) =>
  `${cells
    .slice(0, HEADING.length)
    .map((cell, at) => escaped(cell).padEnd(WIDTHS[at] ?? 0))
    .join('  ')
    .trimEnd()}\n`

const NOTHING = 'The record has no such answer.\n'

const progress = ({ answers, upTo }: SearchProgress) =>
  `looked through ${answers} answers, up to ${upTo.slice(0, 10)}`
