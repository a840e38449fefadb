/**
 * What statements that were sent are made of: "versions", or for a page where it is entered (the start, behind a
 * remembered record, or the end) and whether all is counted. Others are left out.
 */
export function partsOf(sent: string[]): string[] {
  return sent.flatMap(text => {
    if (text.includes('max(')) return ['versions']
    if (!text.includes('as documents')) return []
    const isSeek = /\) [<>] \(/.test(text)
    const entry = isSeek ? 'seek' : isBackward(text) ? 'end' : 'start'
    return [`${entry}${/select count\(\*\) from/.test(text) ? ' and count' : ''}`]
  })
}

/** A page is sent in one direction, and walked to in the same or in the other. */
const isBackward = (text: string) => / asc\b/.test(text) && / desc\b/.test(text)

/** How a page's records are found; see Way in src/assessments/page-statement.ts. */
export function wayOf(text: string): 'few' | 'most' | 'planned' {
  if (text.includes('cross join lateral')) return 'few'
  return /coalesce\("export_records"."organization_id"/.test(text) ? 'most' : 'planned'
}
