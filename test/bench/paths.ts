import { FIRST_PAGE } from './service.ts'

const PAGE = 100

/** The paths of `count` pages from an offset on, each `step` records behind the one before. */
export function pagesFrom(offset: number, count: number, step = PAGE): string[] {
  return Array.from({ length: count }, (_, at) => `${FIRST_PAGE}&offset=${offset + at * step}`)
}

/** The paths of a walk over `count` records, from the first page to the last. */
export function walkPaths(count: number, further = ''): string[] {
  return pagesFrom(0, Math.ceil(count / PAGE)).map(path => path + further)
}

/** The path of the first page that a filter leaves, as `filter[search]`. */
export const filtered = (filter: string, value: string | number) =>
  `${FIRST_PAGE}&${filter}=${encodeURIComponent(value)}`
