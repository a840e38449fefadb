import { stringify } from 'csv-stringify/sync'
import type { Sql } from 'postgres'
import { type Disclosure, eachDisclosure } from '../../disclosures/each.ts'
import type { Question } from '../../disclosures/question.ts'
import { integrationsShown, type Shown } from '../../disclosures/shown.ts'
import type { SearchProgress } from '../../disclosures/slices.ts'
import { escaped, print, printTable, StatusLine } from '../output.ts'

/** As JSON or CSV, or else for people. */
interface Form {
  csv?: true
  json?: true
}

const SHOWN = ['client_id', 'name', 'purpose', 'times', 'first', 'last'] as const satisfies (keyof Shown)[]

/** Prints a row for each integration that was shown something. */
export async function printShown(sql: Sql, question: Question, { csv, json }: Form): Promise<void> {
  const status = new StatusLine()
  const tell = (looked: SearchProgress) => status.show(() => progress(looked))
  const shown = await integrationsShown(sql, question, tell).finally(() => status.clear())
  const cells = shown.map(row => SHOWN.map(name => String(row[name] ?? '')))
  if (json) await print(`${JSON.stringify(shown)}\n`)
  else if (csv) await print(stringify([[...SHOWN], ...cells]))
  else if (shown.length === 0) await print(NOTHING)
  else await printTable(['client id', ...SHOWN.slice(1)], cells)
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

/** Prints a row for each answer, as slices of the record are read: there may be more than a process can hold. */
export async function printEach(sql: Sql, question: Question, { csv, json }: Form): Promise<void> {
  const status = new StatusLine()
  let printed = 0
  // With the first rows: a question that is refused prints nothing.
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
/** What has a length of its own stands first; the widths of the others are known only in the end. */
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
