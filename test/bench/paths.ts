import { LIST } from '../support/http.ts'

const PAGE = 100

export const FIRST_PAGE = `${LIST}?page=${PAGE}`

export const SORTS = ['certified_on', 'user_name', 'proctor_name', 'product_name']

/** The path of the page at an offset. */
export const pageAt = (offset: number) => `${FIRST_PAGE}&offset=${offset}`

/** The paths of `count` pages from an offset on. */
export function pagesFrom(offset: number, count: number): string[] {
  return Array.from({ length: count }, (_, at) => pageAt(offset + at * PAGE))
}

/** The paths of a walk over `count` records, from the first page to the last. */
export const walkPaths = (count: number) => pagesFrom(0, Math.ceil(count / PAGE))

/** The path of the first page with a filter, such as `filter[search]`. */
export const filtered = (filter: string, value: string | number) =>
  `${FIRST_PAGE}&${filter}=${encodeURIComponent(value)}`

/** A filter with several values, as a part of a query string. */
export const listFilter = (name: string, values: string[]) =>
  values.map(value => `filter[${name}][]=${encodeURIComponent(value)}`).join('&')

/** Requests about single persons for warm-up, which put nothing about other lists into page memory. */
export const WARM = Array.from({ length: 4 }, (_, at) => filtered('filter[user_ids][]', at + 1))
