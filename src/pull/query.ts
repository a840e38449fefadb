/** The filters of spec 4.2, and whether they take one value or many. */
export const FILTERS = {
  search: 'one',
  start_date: 'one',
  end_date: 'one',
  product_ids: 'many',
  user_ids: 'many',
  seids: 'many',
  proctor_ids: 'many',
  organization_ids: 'many',
  user_record_status: 'many',
  legacy_record: 'many',
} as const

export type FilterName = keyof typeof FILTERS

/** The largest page that the service allows (spec 8). */
export const PAGE_SIZE = 100

/** Spec 4.2; the first of each is the default. */
export const SORTS = ['certified_on', 'user_name', 'proctor_name', 'product_name'] as const
export const ORDERS = ['ASC', 'DESC'] as const

/** What to pull: the values of each filter, and the order of the records. */
export interface Query {
  filter: Partial<Record<FilterName, string[]>>
  sort: (typeof SORTS)[number]
  order: (typeof ORDERS)[number]
}

/** The query string of a list request, without its offset; the same text for the same query. */
export function queryString({ filter, sort, order }: Query): string {
  const parameters = new URLSearchParams({ page: String(PAGE_SIZE), sort, order })
  for (const [name, kind] of Object.entries(FILTERS)) {
    const key = kind === 'many' ? `filter[${name}][]` : `filter[${name}]`
    for (const value of filter[name as FilterName] ?? []) parameters.append(key, value)
  }
  return parameters.toString()
}
