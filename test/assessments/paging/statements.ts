/**
 * The kinds of the sent statements of pages: `count`, `counted page` for a page that is counted by its own statement, and from
 * where other pages are read. Others are ignored: the look-up of a token, for example.
 */
export function kindsOf(sent: string[]): string[] {
  return sent.flatMap(text => {
    if (text.includes('as "ofScope"')) return ['count']
    if (!text.includes('as "documents"')) return []
    if (!text.includes('token.version =')) return ['counted page']
    if (wayOf(text).startsWith('gathered')) return ['gathered']
    if (text.includes('((select $')) return ['cursor']
    return [text.includes('as page order by') ? 'end' : 'start']
  })
}

/** The way by which the records of a page are found; see Shape in src/assessments/shape.ts. */
export function wayOf(text: string): 'gathered' | 'walked' | 'dense' {
  if (text.includes(') as found')) return 'gathered'
  return text.includes('page.id) as document') ? 'walked' : 'dense'
}
