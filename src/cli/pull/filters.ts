import { InvalidArgumentError, Option } from 'commander'
import { FILTERS, type FilterName, ORDERS, type Query, SORTS } from '../../pull/query.ts'
import { oneOf, readIds } from '../arguments.ts'

/** The options that filter and sort, as commander gives them. */
export interface FilterOptions {
  [name: string]: unknown
  sort: Query['sort']
  order: Query['order']
}

/** The option of a filter; it gives the values of the filter, of which `before` came from the same option. */
interface FilterOption {
  flags: string
  help: string
  read(text: string, before?: string[]): string[]
}

/**
 * What each filter's option takes, and what it matches (spec 4.2). Lists have commas; a State Educator ID may have
 * one in it, so that its option takes a single one, and is not named as the filter: --seids A,B would find nobody.
 */
const TAKES: Record<FilterName, FilterOption> = {
  search: {
    flags: '--search <text>',
    help: 'part of an assessment, first or last name',
    read: last(readText),
  },
  start_date: {
    flags: '--start-date <day>',
    help: 'completed on or after this day, 2026-03-01',
    read: last(readDay),
  },
  end_date: { flags: '--end-date <day>', help: 'completed on or before this day', read: last(readDay) },
  product_ids: { flags: '--product-ids <ids>', help: 'these assessments: 1,2', read: list(readId) },
  user_ids: { flags: '--user-ids <ids>', help: 'these educators: 1,2', read: list(readId) },
  seids: {
    flags: '--seid <seid>',
    help: 'the educator with this State Educator ID; once for each',
    read: (text, before = []) => [...before, readText(text)],
  },
  proctor_ids: {
    flags: '--proctor-ids <ids>',
    help: 'supervised by these proctors: 1,2',
    read: list(readId),
  },
  organization_ids: {
    flags: '--organization-ids <ids>',
    help: 'these organizations: 1,2',
    read: list(readId),
  },
  user_record_status: {
    flags: '--user-record-status <status>',
    help: 'educators who are active, archived',
    read: list(oneOf('active', 'archived')),
  },
  legacy_record: {
    flags: '--legacy-record <boolean>',
    help: 'true: migrated, false: not',
    read: list(oneOf('true', 'false')),
  },
}

/** One for each filter, and the two for the order. */
export function filterOptions(): Option[] {
  return [
    ...Object.values(TAKES).map(({ flags, help, read }) => new Option(flags, help).argParser(read)),
    new Option('--sort <by>', SORTS.join(', ')).argParser(oneOf(...SORTS)).default(SORTS[0]),
    new Option('--order <order>', ORDERS.join(', ')).argParser(oneOf(...ORDERS)).default(ORDERS[0]),
  ]
}

/** The query that the options make. */
export function queryOf(options: FilterOptions): Query {
  const { sort, order } = options
  const filter: Query['filter'] = {}
  for (const name of Object.keys(FILTERS) as FilterName[]) {
    const values = options[new Option(TAKES[name].flags).attributeName()]
    if (values) filter[name] = values as string[]
  }
  return { filter, sort, order }
}

/** One value; the last one holds. */
function last(read: (text: string) => string): FilterOption['read'] {
  return text => [read(text)]
}

/** Values with commas between them, or the option again and again. */
function list(read: (text: string) => string): FilterOption['read'] {
  return (text, before = []) => [...before, ...text.split(',').map(value => read(value.trim()))]
}

/** A blank filter equals an omitted one (spec 4.2): an empty variable of a script would export everything. */
function readText(text: string): string {
  if (text.trim() === '')
    throw new InvalidArgumentError('It is blank: leave the option out to get everything.')
  return text
}

function readDay(text: string): string {
  const day = readText(text).trim()
  const time = Date.parse(`${day}T00:00:00Z`)
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day) || Number.isNaN(time) || !new Date(time).toISOString().startsWith(day))
    throw new InvalidArgumentError('Give a day as 2026-03-01.')
  return day
}

function readId(text: string): string {
  const [id] = [readIds(readText(text))].flat()
  if (id === undefined || id === 'all') throw new InvalidArgumentError('Give whole numbers, as 1,2,3.')
  return id
}
