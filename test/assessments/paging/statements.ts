/**
 * What page statements that were sent are made of: where the page is entered (the start, a remembered place, or the
 * end), and whether all that match are counted. Others are left out.
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

/** How a page's records are found; see Way in src/assessments/page-statement.ts. */
export function wayOf(text: string): 'whole' | 'along' | 'few' | 'picked' {
  if (text.includes('cross join lateral')) return 'few'
  if (text.includes('picked as materialized')) return 'picked'
  return text.includes('as document,') ? 'whole' : 'along'
}
