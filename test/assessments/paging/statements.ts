/**
 * The kinds of the sent statements of pages. Others are ignored: the look-up of a token, for example.
 * - kept, counted: the list is not remembered. Its count is that which writers keep, or that of its records.
 * - sorted: the list is short.
 * - start, cursor: from where a long list is walked.
 */
export function kindsOf(sent: string[]): string[] {
  return sent.flatMap(text => {
    if (!text.includes('as "documents"')) return []
    if (text.includes('filter (where organization_id')) return ['kept']
    if (!text.includes('null::bigint as count')) return ['counted']
    if (!text.includes('where coalesce(')) return ['sorted']
    return [text.includes('(key, id)') ? 'cursor' : 'start']
  })
}
