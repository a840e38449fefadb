/** One small change of one file: `after` in the place of the characters from `start` to `end`. */
export interface Mutant {
  /** From the root of the project. */
  path: string
  start: number
  end: number
  after: string
}

/** A change within a text, before it is known of which file. */
export type Change = Omit<Mutant, 'path'>

/** The text of the file with the change. */
export const mutated = (source: string, { start, end, after }: Change) =>
  source.slice(0, start) + after + source.slice(end)

/** The line on which the change begins, from 1 on. */
export const lineOf = (source: string, { start }: Change) => source.slice(0, start).split('\n').length

/** The changed lines as they were and as they are, on one line: what a report shows, and an explanation names. */
export function linesOf(source: string, change: Change): { before: string; after: string } {
  const from = source.lastIndexOf('\n', change.start - 1) + 1
  const to = source.indexOf('\n', change.end)
  const rest = to < 0 ? '' : source.slice(change.end, to)
  const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ').trim()
  return {
    before: oneLine(source.slice(from, change.end) + rest),
    after: oneLine(source.slice(from, change.start) + change.after + rest),
  }
}
