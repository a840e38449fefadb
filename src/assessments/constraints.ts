import { type Filter, isBigint } from '../contract.ts'
import { conditions } from './conditions.ts'
import { SCOPE_SETS, type ScopeSet } from './scope.ts'
import { searchValues } from './search.ts'

/** Values of a statement's placeholders, by name. */
export type Values = Record<string, unknown>

/** What a request asks for beyond its scope. */
export interface Constraints {
  /** The names of the conditions of filters that constrain anything. */
  filters: string[]
  /** The sets of the scope that are narrowed. */
  narrowed: ScopeSet[]
  /** The values of both. */
  values: Values
}

/** The constraints of a filter. */
export function constraints(filter: Filter): Constraints {
  const values: Values = {
    organizations: filter.organization_ids?.filter(isBigint),
    products: filter.product_ids?.filter(isBigint),
    start_date: filter.start_date,
    end_date: filter.end_date,
    user_ids: filter.user_ids?.filter(isBigint),
    seids: filter.seids,
    proctor_ids: filter.proctor_ids?.filter(isBigint),
    user_record_status: onlyOne(filter.user_record_status),
    legacy_record: onlyOne(filter.legacy_record),
    ...(filter.search && searchValues(filter.search)),
  }
  const isGiven = (name: string) => values[name] !== undefined
  return { filters: Object.keys(conditions).filter(isGiven), narrowed: SCOPE_SETS.filter(isGiven), values }
}

/** The value of a two-valued filter; both of them together constrain nothing. */
const onlyOne = <Value>(values: Value[] = []) => (new Set(values).size === 1 ? values[0] : undefined)
