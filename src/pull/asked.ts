import { sha256 } from '../random.ts'
import type { PullJob } from './job.ts'

/** The parts of what a pull asks for, and how a sentence names a different one. */
const PARTS = {
  address: 'another address',
  client: 'another client id',
  filters: 'other filters',
  order: 'another order',
}

type Part = keyof typeof PARTS

/** What a pull asked for: a digest of each part. Filters may hold names, so the values are not stored. */
export type Asked = Record<Part, string>

export function askedBy({ service, query: { filter, sort, order } }: PullJob): Asked {
  const filters = Object.entries(filter).map(([name, values]) => [name, distinct(values)])
  return {
    address: digest(service.baseUrl),
    client: digest(service.clientId),
    filters: digest(JSON.stringify(filters.sort())),
    order: digest(`${sort} ${order}`),
  }
}

/** The parts that differ, as "another address and other filters"; undefined if none does. */
export function differenceOf(asked: Asked, earlier: Asked, parts = Object.keys(PARTS) as Part[]) {
  const different = parts.filter(part => asked[part] !== earlier[part]).map(part => PARTS[part])
  return different.length === 0 ? undefined : different.join(' and ')
}

/** The order and repetition of values mean nothing. */
const distinct = (values: string[]) => [...new Set(values)].sort()

const digest = (text: string) => sha256(text).toString('base64')
