import querystring from 'node:querystring'
import leven from 'leven'
import { apiError, type ErrorItem, HttpError } from '../answers.ts'
import {
  DEFAULT_PAGE,
  type Filter,
  fieldOf,
  LIST_PARAMETERS,
  type ListQuery,
  MAX_FILTER_VALUES,
  MAX_PAGE,
  ORDERS,
  type Parameter,
  SORTS,
} from '../contract.ts'

/** Bytes of query string that are read; a client that needs more sends several requests. */
export const MAX_QUERY_BYTES = 16 * 1024

/** The parameters with the names that errors give them, which have no brackets at the end. */
const PARAMETERS = Object.entries(LIST_PARAMETERS).map(([key, parameter]) => ({
  parameter,
  name: key.replace('[]', ''),
  field: fieldOf(key),
}))

/** The values of one name, in their order; undefined for a value whose name has more brackets than any parameter. */
type Texts = (string | undefined)[]

/**
 * Reads a list request (contract L1 to L4, F1): unknown names are ignored, sort and order fall back (contract L9). Throws
 * HttpError 400 that names each parameter with another unreadable value: dropping that would widen the answer. Pure.
 */
export function parseListQuery(queryString: string): ListQuery {
  if (queryString.length > MAX_QUERY_BYTES) {
    throw apiError(400, `The query string is longer than ${MAX_QUERY_BYTES} bytes: send several requests`)
  }
  const sent = textsIn(queryString)
  const errors: ErrorItem[] = []
  if (sent.has('filter')) {
    const message = 'filter must be sent as filter[name]=value or filter[name][]=value'
    errors.push({ message, parameter: 'filter' })
  }
  const values: Record<string, unknown> = {}
  for (const { name, field, parameter } of PARAMETERS) {
    const texts = sent.get(name)
    if (!texts || name === 'sort' || name === 'order') continue
    const { expected, value } = readTexts(parameter, texts)
    if (expected) errors.push({ message: `${name} must be ${expected}`, parameter: name })
    else values[field] = value
  }
  if (errors.length > 0) throw new HttpError(400, { errors })
  const { page = DEFAULT_PAGE, offset = 0, ...filter } = values as Filter & { page?: number; offset?: number }
  return {
    page: Math.min(page, MAX_PAGE),
    offset,
    sort: SORTS.find(known => known === sent.get('sort')?.at(-1)?.trim()) ?? SORTS[0],
    order: ORDERS.find(known => known === sent.get('order')?.at(-1)?.trim().toUpperCase()) ?? ORDERS[0],
    filter,
  }
}

/** The value of a parameter, or what it must be. Of a scalar that is repeated the last value wins. */
function readTexts(parameter: Parameter, texts: Texts): { expected?: string; value?: unknown } {
  const { schema, expected, read } = parameter
  const isList = schema.type === 'array'
  if (isList && texts.length > MAX_FILTER_VALUES) return { expected: `at most ${MAX_FILTER_VALUES} values` }
  for (const text of texts) {
    if (text === undefined) return { expected: 'a value or a list of values, without further brackets' }
    // Postgres refuses NUL in text, and no name, seid or number contains the others.
    if (/\p{Cc}/u.test(text)) return { expected: 'free of control characters' }
  }
  const values = (isList ? texts : texts.slice(-1)).map(text => read(text as string))
  return values.includes(undefined) ? { expected } : { value: isList ? values : values[0] }
}

/** A name, the brackets after it, and the rest: `filter[seids][0]`. */
const NAME = /^([^[]+)((?:\[[^\]]*\])*)(\[?)/

/** U+FFFD replaces bytes that are not UTF-8, in Bun as in URLSearchParams: the text that was meant is lost. */
const LOST = '\ufffd'

/** A "%" that begins no escape; URLSearchParams would keep it. */
const NO_ESCAPE = /%(?![\da-f]{2})/gi

/**
 * What was sent under each name: `page`, `filter[seids]`, or `filter` where that has no name in brackets. A list is
 * sent as `f=`, `f[]=` or `f[0]=`. A blank value equals an omitted one (contract F13), whatever its name.
 */
function textsIn(queryString: string): Map<string, Texts> {
  const sent = new Map<string, Texts>()
  // A "?" at the very beginning would be dropped.
  for (const [name, text] of new URLSearchParams(`&${queryString.replace(NO_ESCAPE, LOST)}`)) {
    if (text.trim() === '') continue
    const [, root = '', brackets = '', open = ''] = NAME.exec(name) ?? []
    const fallsBack = root === 'sort' || root === 'order'
    if (!fallsBack && (text + name).includes(LOST))
      throw apiError(400, 'The query string is not valid percent-encoded UTF-8')
    // `filter[search` has no brackets: it is another name.
    if (open && !brackets) continue
    const inner = brackets.slice(1, -1).split('][')
    const filter = root === 'filter' ? inner.shift() : undefined
    const parameter = filter && /^[^[\d]/.test(filter) ? `filter[${filter}]` : root
    const isList = !open && inner.length < (fallsBack ? 3 : 2) && inner.every(one => /^\d*$/.test(one))
    const texts = sent.get(parameter) ?? []
    texts.push(isList ? text : undefined)
    sent.set(parameter, texts)
  }
  return sent
}

/** The name in a `name=value` of a query string. unescape() also takes invalid UTF-8, which `sort[%FF]` may have. */
const decodedName = (pair: string) => querystring.unescape(pair.split('=', 1)[0] ?? '')

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
export function nextLink(queryString: string, query: ListQuery, count: number): { link?: string } {
  const offset = query.offset + query.page
  if (offset >= count) return {}
  const others = queryString.split('&').filter(pair => pair !== '' && !OFFSET.test(decodedName(pair)))
  const next = [...others, `offset=${offset}`].join('&')
  const link = `<assessments?${next.toWellFormed().replace(UNSAFE, encodeURIComponent)}>; rel="next"`
  return link.length > MAX_LINK ? {} : { link }
}

/** Parameters by their letters alone: `filteruserids`, and `userids` for a client that omits the filter around it. */
const LETTERS = Object.keys(LIST_PARAMETERS).flatMap(name => {
  const letters = lettersOf(name)
  return [letters, letters.replace(/^filter/, '')].map(spelling => ({ spelling, name }))
})

/** The spellings that have an effect, or are an error. */
const KNOWN = new Set(PARAMETERS.map(({ name }) => name))

/** A query string of 16 KiB may have thousands of names. */
const MAX_COMPARED = 10

/**
 * The parameters that other names in a query string resemble, which have no effect: `filters[user_ids]`,
 * `filter[product_id]`, `start_date`. Only our own names are returned, since a name that was sent may contain anything:
 * at most MAX_COMPARED.
 */
export function resembled(queryString: string): string[] {
  const found = new Set<string>()
  let compared = 0
  for (const name of new Set(queryString.split('&').map(pair => pair.split('=', 1)[0] ?? ''))) {
    if (KNOWN.has(name)) continue
    const decoded = decodedName(name)
    const [, known = ''] = /^([^[]+|filter\[[^\]]*\])(?:\[\d*\])*$/.exec(decoded) ?? []
    if (KNOWN.has(known)) continue
    if (compared++ === MAX_COMPARED) break
    const nearest = nearestTo(lettersOf(decoded))
    if (nearest) found.add(nearest)
  }
  return [...found]
}

/** The parameter with the least distance: at most one letter, or two for a name of more than seven letters. */
function nearestTo(letters: string): string | undefined {
  const near = LETTERS.flatMap(({ spelling, name }) => {
    const most = spelling.length > 7 ? 2 : 1
    const away = leven(letters, spelling, { maxDistance: most + 1 })
    return away <= most ? [{ name, away }] : []
  })
  return near.sort((one, other) => one.away - other.away)[0]?.name
}

function lettersOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z]/g, '')
}
