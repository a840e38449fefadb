import { readPlace } from './record.ts'
import { isRemoval } from './sync.ts'

/** Where a record stands; `file` only where a source has several, and no line for what --sync removes. */
export interface Place {
  file?: string
  line?: number
}

/** A record that cannot be loaded, and why. */
export interface Problem extends Place {
  reason: string
}

/** A staged row's place in words for people: "line 7", "users.csv line 12". */
export function describePlace({ file, line }: Place): string {
  return [file, line !== undefined && `line ${line}`].filter(Boolean).join(' ')
}

/** The place that a number stands for. */
export function placeIn(files: (string | undefined)[], place: number): Place {
  if (isRemoval(place)) return { file: '--sync' }
  const { file, line } = readPlace(place)
  const name = files[file]
  return { ...(name !== undefined && { file: name }), line }
}

/** A reason, completed by the place of another record where it needs one. */
export function reasonIn(files: (string | undefined)[], reason: string, other: number | undefined): string {
  return other === undefined ? reason : reason + describePlace(placeIn(files, other))
}
