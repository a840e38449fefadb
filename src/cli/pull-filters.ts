import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { FILTERS, type Filter } from '../contract.ts'
import type { PullQuery } from '../pull/job.ts'
import { readId } from './arguments.ts'

/** The option of each filter of the contract: its flags and its help. */
const OPTIONS: Record<keyof Filter, [flags: string, help: string]> = {
  search: ['--search <text>', 'part of an assessment, first or last name'],
  start_date: ['--start-date <day>', 'completed on or after this day: 2026-03-01'],
  end_date: ['--end-date <day>', 'completed on or before this day'],
  product_ids: ['--product-ids <ids>', 'these products: 1,2'],
  user_ids: ['--user-ids <ids>', 'these educators: 1,2'],
  // One value, and not named as the filter: a State Educator ID may have a comma, so --seids A,B would find nobody.
  seids: ['--seid <seid>', 'this State Educator ID; repeatable'],
  proctor_ids: ['--proctor-ids <ids>', 'supervised by these proctors: 1,2'],
  organization_ids: ['--organization-ids <ids>', 'these organizations: 1,2'],
  user_record_status: ['--user-record-status <status>', 'educators that are active or archived'],
  legacy_record: ['--legacy-record <boolean>', 'true: migrated records; false: others'],
}

/** An option for each filter, whose values are put into `filter`. */
export function filterOptions(filter: PullQuery['filter']): Option[] {
  const names = Object.keys(FILTERS) as (keyof Filter)[]
  return names.map(name => {
    const { kind, schema } = FILTERS[name]
    const read = (text: string) => {
      // The API ignores a blank filter, so an empty variable of a script would export everything.
      if (text.trim() === '')
        throw new InvalidArgumentError('It is blank: leave the option out to get everything.')
      if (name.endsWith('_ids')) return readId(text, 'whole numbers, as 1,2,3')
      const value = kind.read(name === 'user_record_status' ? text.toLowerCase() : text)
      if (value === undefined) throw new InvalidArgumentError(`Give ${kind.expected}.`)
      return String(value)
    }
    const isList = schema.type === 'array'
    const add = (text: string) => {
      const values = (isList && name !== 'seids' ? text.split(',') : [text]).map(read)
      // The last value of a scalar filter wins.
      filter[name] = isList ? [...(filter[name] ?? []), ...values] : values
      // Of nothing, commander would make a blank value.
      return text
    }
    return new Option(...OPTIONS[name]).argParser(add)
  })
}
