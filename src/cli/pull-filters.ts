import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { type Filter, isDay, LIST_PARAMETERS } from '../contract.ts'
import type { Query } from '../pull/job.ts'
import { oneOf, readIds } from './arguments.ts'

/** The option of each filter (spec 4.2): its flags, its help, and the reader of one value. */
const OPTIONS: Record<keyof Filter, [flags: string, help: string, read: (text: string) => string]> = {
  search: ['--search <text>', 'part of an assessment name, a first or a last name', readText],
  start_date: ['--start-date <day>', 'completed on or after this day: 2026-03-01', readDay],
  end_date: ['--end-date <day>', 'completed on or before this day', readDay],
  product_ids: ['--product-ids <ids>', 'these products: 1,2', readId],
  user_ids: ['--user-ids <ids>', 'these educators: 1,2', readId],
  // One value, and not named as the filter: a State Educator ID may have a comma, so --seids A,B would find nobody.
  seids: ['--seid <seid>', 'the educator with this State Educator ID; repeatable', readText],
  proctor_ids: ['--proctor-ids <ids>', 'supervised by these proctors: 1,2', readId],
  organization_ids: ['--organization-ids <ids>', 'these organizations: 1,2', readId],
  user_record_status: [
    '--user-record-status <status>',
    'educators that are active or archived',
    oneOf('active', 'archived'),
  ],
  legacy_record: [
    '--legacy-record <boolean>',
    'true: migrated records; false: others',
    oneOf('true', 'false'),
  ],
}

/** An option for each filter. */
export function filterOptions(): Option[] {
  return Object.entries(OPTIONS).map(([name, [flags, help, read]]) =>
    new Option(flags, help).argParser<string[]>((text, before = []) => {
      if (name === 'seids') return [...before, read(text)]
      // The last value of a scalar filter wins.
      if (`filter[${name}]` in LIST_PARAMETERS) return [read(text)]
      return [...before, ...text.split(',').map(value => read(value.trim()))]
    }),
  )
}

/** The filters among the options of a command. */
export function filterOf(options: Record<string, unknown>): Query['filter'] {
  const values = Object.entries(OPTIONS).map(([name, [flags]]) => [
    name,
    options[new Option(flags).attributeName()],
  ])
  return Object.fromEntries(values.filter(([, value]) => value))
}

/** The API ignores a blank filter (spec 4.2), so an empty variable of a script would export everything. */
function readText(text: string): string {
  if (text.trim() === '')
    throw new InvalidArgumentError('It is blank: leave the option out to get everything.')
  return text
}

function readDay(text: string): string {
  const day = readText(text).trim()
  if (!isDay(day)) throw new InvalidArgumentError('Give a day as 2026-03-01.')
  return day
}

function readId(text: string): string {
  const [id] = [readIds(readText(text))].flat()
  if (id === undefined || id === 'all') throw new InvalidArgumentError('Give whole numbers, as 1,2,3.')
  return id
}
