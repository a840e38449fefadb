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
import { LOST, type Pair } from './query-string.ts'

/** The parameters with the names that errors give them, which have no brackets at the end. */
const PARAMETERS = Object.entries(LIST_PARAMETERS).map(([key, parameter]) => ({
  parameter,
  name: key.replace('[]', ''),
  field: fieldOf(key),
}))

/**
 * Reads a list request (contract L1 to L4, F1): unknown names are ignored, sort and order fall back (contract L9). Throws
 * HttpError 400 that names each parameter with another unreadable value: dropping that would widen the answer. Pure.
 */
export function parseListQuery(pairs: Pair[]): ListQuery {
  const sent = textsIn(pairs)
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

/** The values of one name, in their order; undefined for a value whose name has more brackets than any parameter. */
type Texts = (string | undefined)[]

/** A name, the brackets after it, and the rest: `filter[seids][0]`. */
const NAME = /^([^[]+)((?:\[[^\]]*\])*)(\[?)/

/**
 * What was sent under each name: `page`, `filter[seids]`, or `filter` where that has no name in brackets. A list is
 * sent as `f=`, `f[]=` or `f[0]=`. A blank value equals an omitted one (contract F13), whatever its name.
 */
function textsIn(pairs: Pair[]): Map<string, Texts> {
  const sent = new Map<string, Texts>()
  for (const { name, text } of pairs) {
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
