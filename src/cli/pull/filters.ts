import { InvalidArgumentError, Option } from 'commander'
import { FILTERS, type FilterName, ORDERS, type Query, SORTS } from '../../pull/query.ts'
import { oneOf, readIds } from '../arguments.ts'

/** The options that filter and sort, as commander gives them. */
export interface FilterOptions {
  [name: string]: unknown
  sort: Query['sort']
  order: Query['order']
}

const IDS = { ids: '<ids>', read: many(readId) }

/** What each filter's option takes, and what it matches (spec 4.2). */
const TAKES: Record<
  FilterName,
  { value: string; read: (text: string, before?: string[]) => string[]; help: string }
> = {
  search: { value: '<text>', read: one(readText), help: 'part of an assessment, first or last name' },
  start_date: { value: '<day>', read: one(readDay), help: 'completed on or after this day, 2026-03-01' },
  end_date: { value: '<day>', read: one(readDay), help: 'completed on or before this day' },
  product_ids: { value: IDS.ids, read: IDS.read, help: 'these assessments: 1,2' },
  user_ids: { value: IDS.ids, read: IDS.read, help: 'these educators' },
  seids: { value: '<seids>', read: many(readText), help: 'educators with these State Educator IDs' },
  proctor_ids: { value: IDS.ids, read: IDS.read, help: 'supervised by these proctors' },
  organization_ids: { value: IDS.ids, read: IDS.read, help: 'these organizations' },
  user_record_status: {
    value: '<status>',
    read: many(oneOf('active', 'archived')),
    help: 'active, archived',
  },
  legacy_record: {
    value: '<boolean>',
    read: many(oneOf('true', 'false')),
    help: 'true: migrated, false: not',
  },
}

/** One for each filter, named as the spec does, and the two for the order. */
export function filterOptions(): Option[] {
  return [
    ...Object.entries(TAKES).map(([name, { value, read, help }]) =>
      new Option(`--${name.replaceAll('_', '-')} ${value}`, help).argParser(read),
    ),
    new Option('--sort <by>', SORTS.join(', ')).argParser(oneOf(...SORTS)).default(SORTS[0]),
    new Option('--order <order>', ORDERS.join(', ')).argParser(oneOf(...ORDERS)).default(ORDERS[0]),
  ]
}

/** The query that the options make. */
export function queryOf(options: FilterOptions): Query {
  const { sort, order } = options
  const filter: Query['filter'] = {}
  for (const name of Object.keys(FILTERS) as FilterName[]) {
    const values = options[name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())]
    if (values) filter[name] = values as string[]
  }
  return { filter, sort, order }
}

/** The last one holds. */
function one(read: (text: string) => string) {
  return (text: string) => [read(text)]
}

/** Separated by commas, or given again and again. */
function many(read: (text: string) => string) {
  return (text: string, before: string[] = []) => [
    ...before,
    ...text.split(',').map(value => read(value.trim())),
  ]
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
