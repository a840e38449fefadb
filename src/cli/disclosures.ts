import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { stringify } from 'csv-stringify/sync'
import type { Sql } from 'postgres'
import { describeAhead, readCoverage } from '../disclosures/coverage.ts'
import { type DisclosureFilter, type Moment, requirePeriod } from '../disclosures/disclosure-filter.ts'
import { type Disclosure, eachDisclosure } from '../disclosures/each-disclosure.ts'
import { listRecipients } from '../disclosures/recipients.ts'
import { isDay } from '../parameters.ts'
import { describeDisclosureState } from '../tables/disclosure-state.ts'
import { given, newCommand, readId } from './arguments.ts'
import { findOne, readEmail, showProctored } from './disclosures-person.ts'
import { escaped, print, printJson } from './output.ts'
import { COLUMNS, cellsOf, NOTHING, recipientsTable } from './recipients.ts'
import { withDatabase } from './with-database.ts'

/** axport disclosures */
export const disclosuresCommand = () =>
  newCommand(
    'disclosures',
    'Show which integrations were sent whose records.',
    `Answers are recorded after axport migrate --disclosures on, and kept for --disclosures-keep. The
record has ids only, and keeps people whose assessments were removed later. It has no proctors: with
--user or --email, a second table has the answers with assessments of others that name the person
as a proctor today. With --csv or --json it is on standard error. Days are days in the platform's
time zone.

Example: axport disclosures --user 501 --since 90d`,
  )
    .addOption(new Option('--user <id>', 'records of this person').argParser(readId).conflicts('email'))
    .option('--email <address>', 'records of the person with this email; - reads it from standard input')
    .option('--integration <client-id>', 'answers to this integration, which may be deleted')
    .option('--since <when>', 'from this day on: 2026-09-01; or for the last 90d', readMoment)
    .option('--until <when>', 'until the end of this day, or until 90d ago', readMoment)
    .option('--each', 'every single answer, with its request id')
    .addOption(new Option('--csv', 'print CSV').conflicts('json'))
    .option('--json', 'print a JSON array')
    .action(async ({ user, email: address, integration, since, until, each, ...form }) => {
      const email = address === undefined ? undefined : await readEmail(address)
      await withDatabase(async ({ sql }) => {
        // CSV and JSON have nothing beside their rows.
        const show = form.csv || form.json ? (text: string) => process.stderr.write(text) : print
        const userId = email === undefined ? user : await findOne(sql, email, show)
        const filter: DisclosureFilter = given({ userId, clientId: integration, since, until })
        await requirePeriod(sql, filter)
        await (each ? printEach : printSummary)(sql, filter, form)
        await noteCoverage(sql)
        if (userId !== undefined) await showProctored(sql, filter, show)
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
async function noteCoverage(sql: Sql): Promise<void> {
  const { state, begins, ahead } = await readCoverage(sql)
  const oldest = begins === null ? 'it has no answer yet' : `its oldest answer is of ${begins}`
  const condition = state === undefined ? 'in an unknown state' : describeDisclosureState(state)
  const advice = state?.isOn === false ? '; axport migrate --disclosures on begins to record' : ''
  process.stderr.write(`The record is ${condition}; ${oldest}${advice}.\n`)
  if (ahead !== null) process.stderr.write(`Note: ${describeAhead(ahead)}.\n`)
}

interface Form {
  csv?: true
  json?: true
}

/** Prints a row for each integration. */
async function printSummary(sql: Sql, filter: DisclosureFilter, { csv, json }: Form): Promise<void> {
  const recipients = await listRecipients(sql, filter)
  if (json) await printJson(recipients)
  else if (csv) await print(stringify([[...COLUMNS], ...recipients.map(cellsOf)]))
  else await print(recipientsTable(recipients))
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

/** Prints a row for each answer, some at a time: all of them may not fit into memory. */
async function printEach(sql: Sql, filter: DisclosureFilter, { csv, json }: Form): Promise<void> {
  let printed = 0
  // Printed with the first rows, so that a refused filter prints nothing.
  let opening = json ? '[' : csv ? stringify([[...EACH]]) : ''
  for await (const rows of eachDisclosure(sql, filter)) {
    const text = () => {
      if (json) return rows.map((row, at) => (printed + at > 0 ? ',' : '') + JSON.stringify(row)).join('')
      const cells = rows.map(row => EACH.map(name => [row[name] ?? []].flat().join(' ')))
      if (csv) return stringify(cells)
      return [...(printed === 0 ? [HEADING] : []), ...cells].map(lineOf).join('')
    }
    await print(opening + text())
    opening = ''
    printed += rows.length
  }
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
