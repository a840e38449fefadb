import type { Mark } from './mark.ts'

/** Where a page ended: `offset` records of an order come up to the one with this key and id. */
export interface Cursor {
  offset: number
  key: string
  id: string
  mark: Mark
}

/** Where the records of a page are read from: the first or the last record of the order, or a cursor. */
export type Entry = 'start' | 'end' | Cursor
