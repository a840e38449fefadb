/**
 * The kinds of the page statements among the sent statements: where reading starts (the start, a remembered
 * place or the end), and whether the matches are counted. Other statements are ignored.
 */
export function partsOf(sent: string[]): string[] {
  return sent
    .filter(text => text.includes('as documents'))
    .map(text => {
      const [isAfter, isBefore] = [text.includes(') as after limit'), text.includes(') as before limit')]
      const entry = isAfter && isBefore ? 'place' : isBefore ? 'end' : 'start'
      return `${entry}${text.includes('reltuples') ? ' and count' : ''}`
    })
}

/** The way by which the records of a page are found; see Way in src/assessments/page-statement.ts. */
export function wayOf(text: string): 'whole' | 'along' | 'few' | 'picked' {
  if (text.includes('cross join lateral')) return 'few'
  if (text.includes('picked as materialized')) return 'picked'
  return text.includes('as document,') ? 'whole' : 'along'
}
