import type { ListQuery } from '../contract.ts'
import type { Pair } from './query-string.ts'

/** What must be encoded in the query of a URI (RFC 3986 §3.4). Brackets must. */
const UNSAFE = /[^\w\-.~!$&'()*+,;=:@/?%]+/gu

/** `offset` in any form that the parser reads. */
const OFFSET = /^offset(?:\[|$)/

/** Bytes of the header: nginx by default answers 502 to headers past 4 KiB, and paging works without this one. */
export const MAX_LINK = 3000

/**
 * The Link header (RFC 8288) to the next page, with every parameter as it was sent, but for the offset. It is relative:
 * proxies change the front of the address. It has the last segment, because Java resolves a bare query wrongly. Pure.
 */
export function nextLink(pairs: Pair[], query: ListQuery, count: number): { link?: string } {
  const offset = query.offset + query.page
  if (offset >= count) return {}
  const others = pairs.filter(({ name }) => !OFFSET.test(name)).map(({ sent }) => sent)
  const next = [...others, `offset=${offset}`].join('&')
  const link = `<assessments?${next.replace(UNSAFE, encodeURIComponent)}>; rel="next"`
  return link.length > MAX_LINK ? {} : { link }
}
