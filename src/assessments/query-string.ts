import querystring from 'node:querystring'
import { apiError } from '../answers.ts'

/** Bytes of query string that are read; a client that needs more sends several requests. */
export const MAX_QUERY_BYTES = 16 * 1024

/** A `name=value` of a query string: as it was sent, and decoded. */
export interface Pair {
  sent: string
  name: string
  text: string
}

/** U+FFFD replaces bytes that are not UTF-8: the text that was meant is lost. */
export const LOST = '\ufffd'

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
