/**
 * The kinds of the sent statements of pages: `remembered` with where a page is read from, for one that corrects what is
 * remembered; `state`, `spread`, `count` and where a page is read from, for those of a snapshot. Others are ignored:
 * the look-up of a token, for example.
 */
export function kindsOf(sent: string[]): string[] {
  return sent.flatMap(text => {
    if (text.includes('as documents')) {
      const end = text.includes('as page order by') ? 'end' : 'start'
      const entry = text.includes('((select $') ? 'cursor' : end
      return [`${text.includes('as is_correctable') ? 'remembered ' : ''}${entry}`]
    }
    if (text.includes('"ofOrganizations"')) return ['spread']
    if (text.includes('::float8 as count')) return ['count']
    return text.includes('as newest') ? ['state'] : []
  })
}

/** The way by which the records of a page are found; see Way in src/assessments/ways.ts. */
export function wayOf(text: string): 'whole' | 'along' | 'each' | 'picked' {
  if (text.includes(') as picked')) return 'picked'
  if (text.includes('as nearest')) return 'each'
  return text.includes('page.id) as document') ? 'along' : 'whole'
}
