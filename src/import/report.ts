import { type RecordSource, readPlace } from './record.ts'
import { isRemoval } from './sync.ts'

/**
 * Where a record stands: `file` only where a source has several, a row where the file is a query, and neither row nor
 * line for what --sync removes.
 */
export interface Place {
  file?: string
  line?: number
  row?: number
}

/** What has to be known of a source to tell a place in it. */
type Placed = Pick<RecordSource, 'files' | 'unit'>

/** A record that cannot be loaded, and why. */
export interface Problem extends Place {
  reason: string
}

/** A staged row's place in words for people: "line 7", "users.csv line 12", "users.sql row 12". */
export function describePlace({ file, line, row }: Place): string {
  const at = line !== undefined ? `line ${line}` : row !== undefined && `row ${row}`
  return [file, at].filter(Boolean).join(' ')
}

/** The place that a number stands for. */
export function placeIn({ files, unit }: Placed, place: number): Place {
  if (isRemoval(place)) return { file: '--sync' }
  const { file, line } = readPlace(place)
  const name = files[file]
  return { ...(name !== undefined && { file: name }), [unit]: line }
}

/** A reason, completed by the place of another record where it needs one. */
export function reasonIn(source: Placed, reason: string, other: number | undefined): string {
  return other === undefined ? reason : reason + describePlace(placeIn(source, other))
}
