import type { ListQuery } from '../contract.ts'

/** What must be encoded in the query of a URI (RFC 3986 §3.4). Brackets must. */
const UNSAFE = /[^\w\-.~!$&'()*+,;=:@/?%]+/gu

/** `offset` in any form that the parser reads. */
const OFFSET = /^offset(?:\[|$)/

/** Bytes of the header: nginx by default answers 502 to headers past 4 KiB, and paging works without this one. */
export const MAX_LINK = 3000

/**
 * The Link header (RFC 8288) of a page of `count` matching records; none on the last page, and none that is too long.
 * Pure. The address has every parameter as it was sent, but for the offset. It is relative, because proxies change
 * scheme, host and the front of the path; it has the last segment, because Java resolves a bare query wrongly.
 */
export function nextLink(queryString: string, query: ListQuery, count: number): { link?: string } {
  const offset = query.offset + query.page
  if (offset >= count) return {}
  const others = queryString.split('&').filter(pair => pair !== '' && !OFFSET.test(nameOf(pair)))
  const next = [...others, `offset=${offset}`].join('&')
  const link = `<assessments?${next.toWellFormed().replace(UNSAFE, encodeURIComponent)}>; rel="next"`
  return link.length > MAX_LINK ? {} : { link }
}

/** A name may be invalid UTF-8, because the parser accepts anything in brackets after `sort` and `order`. */
function nameOf(pair: string): string {
  const [name = ''] = pair.split('=', 1)
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
