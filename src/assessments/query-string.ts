import querystring from 'node:querystring'
import { apiError } from '../answers.ts'
import type { SentValues } from '../parameters.ts'

/** Bytes of query string that are read; a client that needs more sends several requests. */
export const MAX_QUERY_BYTES = 16 * 1024

/** A `name=value` of a query string: as it was sent, and decoded. */
export interface Pair {
  sent: string
  name: string
  text: string
}

/** U+FFFD replaces bytes that are not UTF-8: the text that was meant is lost. */
const LOST = '\ufffd'

/** A "%" that begins no escape. */
const NO_ESCAPE = /%(?![\da-f]{2})/gi

/** Reads a query string, once for all that look into it. Throws HttpError 400 if it is too long. Pure. */
export function pairsIn(queryString: string): Pair[] {
  if (queryString.length > MAX_QUERY_BYTES) {
    throw apiError(400, `The query string is longer than ${MAX_QUERY_BYTES} bytes: send several requests`)
  }
  const sent = queryString.toWellFormed().split('&')
  return sent.filter(pair => pair !== '').map(readPair)
}

function readPair(sent: string): Pair {
  const end = sent.indexOf('=')
  const [name, text] = end < 0 ? [sent, ''] : [sent.slice(0, end), sent.slice(end + 1)]
  return { sent, name: decoded(name), text: decoded(text) }
}

/** Forms write a blank as "+". unescape() also takes bytes that are not UTF-8, which `sort[%FF]` may have. */
function decoded(text: string): string {
  if (!/[%+]/.test(text)) return text
  return querystring.unescape(text.replaceAll('+', ' ').replaceAll(NO_ESCAPE, LOST))
}

/** A name, the brackets after it, and the rest: `filter[seids][0]`. */
const NAME = /^([^[]+)((?:\[[^\]]*\])*)(\[?)/

/** A name of a filter whose brackets were encoded twice. */
const ENCODED_TWICE = /^filter%(?:25)*5b/i

/**
 * What was sent under each name, for the validator: `page`, `filter[seids]`, or `filter` where the name of a filter cannot
 * be read. A list is sent as `f=`, `f[]=` or `f[0]=`. A blank value equals an omitted one (contract F13), whatever its
 * name. Throws HttpError 400. Pure.
 */
export function sentIn(pairs: Pair[]): Record<string, SentValues | undefined> {
  const sent: Record<string, SentValues | undefined> = Object.create(null)
  for (const { name, text } of pairs) {
    if (text.trim() === '') continue
    const [, root = '', brackets = '', open = ''] =
      NAME.exec(ENCODED_TWICE.test(name) ? 'filter' : name) ?? []
    const fallsBack = root === 'sort' || root === 'order'
    if (!fallsBack && (text + name).includes(LOST))
      throw apiError(400, 'The query string is not valid percent-encoded UTF-8')
    // Without a bracket that closes it is another name, which is ignored, but for a filter.
    if (open && !brackets && root !== 'filter') continue
    const inner = brackets.slice(1, -1).split('][')
    const filter = root === 'filter' ? inner.shift() : undefined
    const parameter = filter && /^[^[\d]/.test(filter) ? `filter[${filter}]` : root
    const isList = !open && inner.length < (fallsBack ? 3 : 2) && inner.every(one => /^\d*$/.test(one))
    sent[parameter] ??= []
    sent[parameter].push(isList ? text : undefined)
  }
  return sent
}
