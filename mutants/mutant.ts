/** One small change of one file: `after` replaces the characters from `start` to `end`. */
export interface Mutant {
  /** The path from the root of the project. */
  path: string
  start: number
  end: number
  after: string
}

/** A change within a text, without the path of the file. */
export type Change = Omit<Mutant, 'path'>

/** The text of the file with the change. */
export const mutated = (source: string, { start, end, after }: Change) =>
  source.slice(0, start) + after + source.slice(end)

/** The number of the line on which the change begins, counted from 1. */
export const lineOf = (source: string, { start }: Change) => source.slice(0, start).split('\n').length

/** The changed lines before and after, each joined to one line. Reports and equivalent.json use this form. */
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
