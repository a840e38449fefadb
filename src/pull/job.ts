import { FILTERS, type Filter, MAX_PAGE, type Order, type Sort, sentName } from '../contract.ts'
import type { Limit } from '../limit.ts'
import type { WriteBytes } from '../output-file.ts'
import type { Service } from './api-client.ts'
import type { Form } from './formats.ts'

/** What to pull: the values of each filter as text, and the order of the records. */
export interface PullQuery {
  filter: { [name in keyof Filter]?: string[] }
  sort: Sort
  order: Order
}

/** The query string of a list request, without its offset. */
export function queryString({ filter, sort, order }: PullQuery): string {
  const parameters = new URLSearchParams({ page: String(MAX_PAGE), sort, order })
  let name: keyof Filter
  for (name in FILTERS)
    for (const value of filter[name] ?? []) parameters.append(sentName(name, FILTERS[name]), value)
  return parameters.toString()
}

/** What to pull, from where, and into what. */
export interface PullJob extends Form {
  service: Service
  query: PullQuery
  /** A path, or a function that takes the bytes in their order. */
  out: string | WriteBytes
  /** The files that the command reads, besides that of the comparison. */
  inputs: string[]
  /** Fails when there are no records, and leaves the earlier output. */
  failIfEmpty?: boolean | undefined
  /** Only for a file of NDJSON. */
  comparison?: PullComparison | undefined
}

/** What to compare the records of a pull with, and where to write the differences. */
export interface PullComparison {
  /** The output of an earlier pull, or a file without records. */
  previous: string
  changes: string
  /** The most records that may be removed. A share always allows ten. */
  maxRemoved: Limit
}

/** What a pull reports, and the signal that ends it. */
export interface PullObserver {
  /** How many records were read, and how many there are. */
  onProgress(done: number, total: number): void
  /** A request failed, and is sent again in so many milliseconds. */
  onPause(reason: string, milliseconds: number): void
  /** A line for the person who runs the pull. */
  onNote(text: string): void
  /** The file of the changes was replaced; that of the records is next. */
  onChangesWritten(): void
  signal: AbortSignal
}

/** The result of a finished pull. */
export interface PullResult {
  records: number
  /** How often everything was read again, because the data changed. */
  restarts: number
  /** Undefined without a comparison. */
  changes?: ChangeCounts
}

/** The lines of --changes by their kind. */
export interface ChangeCounts {
  added: number
  changed: number
  removed: number
}
