import type { ListQuery } from './parameters.ts'

/** Everything but what may stand in the query of a URI as it is (RFC 3986 §3.4). Brackets may not. */
const UNSAFE = /[^\w\-.~!$&'()*+,;=:@/?%]+/gu

/** `offset` in any spelling that the parser takes. */
const OFFSET = /^offset(?:\[|$)/

/**
 * Bytes of the header at most. nginx answers 502 to headers past 4 KiB unless told otherwise, and a request that
 * works by the rule of spec 4.2 must not fail for a convenience beside it.
 */
export const MAX_LINK = 3000

/**
 * The Link header (RFC 8288) of a page of `count` matching records; none on the last page, and none that is too long.
 * Pure. The address has every parameter of the request as it was sent, but for the offset. It is relative, because
 * proxies change scheme, host and the front of the path; the last segment is repeated for Java's sake.
 */
export function nextLink(queryString: string, query: ListQuery, count: number): { link?: string } {
  const offset = query.offset + query.page
  if (offset >= count) return {}
  const kept = queryString.split('&').filter(pair => pair !== '' && !OFFSET.test(nameOf(pair)))
  const next = [...kept, `offset=${offset}`].join('&')
  const link = `<assessments?${next.toWellFormed().replace(UNSAFE, encodeURIComponent)}>; rel="next"`
  return link.length > MAX_LINK ? {} : { link }
}

/** Only what is below `sort` or `order` may have been taken without being UTF-8. */
function nameOf(pair: string): string {
  const [name = ''] = pair.split('=', 1)
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
