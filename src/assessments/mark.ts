import { type SQL, sql } from 'drizzle-orm'
import { exportChanges as changes } from '../../db/schema.ts'
import { text } from '../database/statement.ts'

/** Marks: the moments at which something was read, as rows of the log of changes. */
export interface Mark {
  position: number
  /** The random tag of the row: a database that was set back has another one at the same position. */
  tag: string
}

/** The newest row of the log, as columns of a statement that joins it. */
export const NEWEST = { position: sql`newest.position`, tag: sql`newest.tag` }
export const joinNewest = sql`
left join (select position, tag from ${changes} order by position desc limit 1) as newest on true`

/** The mark in the columns of NEWEST; undefined if the log is empty. */
export function markOf({ position, tag }: Record<keyof typeof NEWEST, Buffer | null>): Mark | undefined {
  return position && tag ? { position: Number(text(position)), tag: tag.toString() } : undefined
}

const positionOf = (of: 'count' | 'cursor') => sql`${sql.placeholder(`${of}_position`)}::bigint`

/** The values of the placeholders that the following conditions have, for the marks of a count and of a cursor. */
export const markValues = (count: Mark | undefined, cursor: Mark | undefined) => ({
  count_position: count?.position,
  count_tag: count?.tag,
  cursor_position: cursor?.position,
  cursor_tag: cursor?.tag,
})

/** Whether the log has the marks of a remembered count, and of a cursor if there is one. */
export function areLogged(hasCursor: boolean): SQL {
  const isLogged = (of: 'count' | 'cursor') =>
    sql`exists (select from ${changes} where position = ${positionOf(of)} and tag = ${sql.placeholder(`${of}_tag`)}::uuid)`
  return hasCursor
    ? sql`${isLogged('count')}
      and ${isLogged('cursor')}`
    : isLogged('count')
}

/** Whether a row of the log is later than the mark of the count, of the cursor, or than the older of both. */
export const isLater = (than: 'count' | 'cursor') => sql`position > ${positionOf(than)}`
export const isLaterThanOlder = (hasCursor: boolean) =>
  hasCursor ? sql`position > least(${positionOf('count')}, ${positionOf('cursor')})` : isLater('count')
