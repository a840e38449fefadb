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

/** A name: the word before its brackets, what is in them, and whether each is closed. `a[b][0]` is `a` with `b` and `0`. */
interface Name {
  root: string
  keys: string[]
  isClosed: boolean
}

function readName(name: string): Name {
  const [, root = '', brackets = '', open = ''] = /^([^[]+)((?:\[[^\]]*\])*)(\[?)/.exec(name) ?? []
  return { root, keys: brackets === '' ? [] : brackets.slice(1, -1).split(']['), isClosed: open === '' }
}

/** What looks like a filter, and must not be ignored: the answer would have more records than were asked for. */
const FILTER = /^filter(?![\p{L}\p{N}_-])/iu

/** The name of a filter, known or not. A number is the place of a value in a list. */
const FILTER_KEY = /^(?!-?\d+$)[\p{L}\p{N}_-]+$/u

/** Decodes until nothing changes: brackets that were encoded twice are brackets. In one pass, as there may be thousands. */
function whollyDecoded(name: string): string {
  if (!name.includes('%')) return name
  const read: string[] = []
  for (const character of name) {
    read.push(character)
    // What an escape stands for may be the end of another one.
    while (/^%[\da-f]{2}$/i.test(read.slice(-3).join('')))
      read.push(String.fromCharCode(Number.parseInt(read.splice(-3).slice(1).join(''), 16)))
  }
  return read.join('')
}

/**
 * What was sent under each name, for the validator: `page`, `filter[seids]`, or `filter` for what looks like a filter and
 * cannot be read. A list is sent as `f=`, `f[]=` or `f[0]=`. A blank value equals an omitted one (contract F13), whatever
 * its name. Throws HttpError 400. Pure.
 */
export function sentIn(pairs: Pair[]): Record<string, SentValues | undefined> {
  const sent: Record<string, SentValues | undefined> = Object.create(null)
  for (const { name, text } of pairs) {
    const decoded = whollyDecoded(name)
    const isFilter = FILTER.test(decoded)
    // If "=" was encoded, the value is in the name.
    const hasValue = text.trim() !== '' || (isFilter && decoded.includes('='))
    if (!hasValue) continue
    const { root, keys, isClosed } = readName(name)
    const fallsBack = root === 'sort' || root === 'order'
    if (!fallsBack && (text + name).includes(LOST))
      throw apiError(400, 'The query string is not valid percent-encoded UTF-8')
    // Without a bracket that closes it is another name, which is ignored.
    if (!isFilter && !isClosed && keys.length === 0) continue
    const [key = '', ...ofFilter] = keys
    const isRead = root === 'filter' && FILTER_KEY.test(key) && decoded === name && !name.includes('=')
    const parameter = isRead ? `filter[${key}]` : isFilter ? 'filter' : root
    const places = isFilter ? ofFilter : keys
    const isList =
      isClosed && places.length < (fallsBack ? 3 : 2) && places.every(place => /^\d*$/.test(place))
    sent[parameter] ??= []
    sent[parameter].push(isList ? text : undefined)
  }
  return sent
}
