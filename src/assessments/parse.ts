import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { apiError, type ErrorItem, HttpError } from '../answers.ts'
import { ListParameters, MAX_FILTER_VALUES, ORDERS, SORTS } from './parameters.ts'
import { readValue, Unreadable } from './values.ts'

/** Bytes of query string that are read; a client that needs more sends several requests. */
export const MAX_QUERY_BYTES = 16 * 1024

/** The parameters, each with the name that errors give it, which has no brackets behind. */
const READ = Object.entries(ListParameters.properties)
  .map(([name, schema]) => ({ name, schema, parameter: name.replace('[]', '') }))
  // These two fall back whatever they hold, and are never an error (spec 7.3).
  .filter(({ name }) => name !== 'sort' && name !== 'order')

/** Texts under one name, in their order; undefined for one that stands in brackets that nobody has. */
type Texts = (string | undefined)[]

/**
 * Reads the query string of a list request, without its "?" (spec 4.2, design §5). Pure.
 *
 * What the spec says falls back, falls back; unknown names are ignored; blanks are dropped. A value that
 * is there and cannot be read is an error and never dropped: dropping it would widen the answer.
 * @throws HttpError 400 that names every unreadable parameter
 */
export function parseListQuery(queryString: string): ListParameters {
  if (queryString.length > MAX_QUERY_BYTES) {
    throw apiError(400, `The query string is longer than ${MAX_QUERY_BYTES} bytes: send several requests`)
  }
  const sent = textsIn(queryString)
  const errors: ErrorItem[] = []
  if (sent.has('filter')) {
    const message = 'filter must be sent as filter[name]=value or filter[name][]=value'
    errors.push({ message, parameter: 'filter' })
  }
  const read: Record<string, unknown> = {
    sort: SORTS.find(known => known === sent.get('sort')?.at(-1)?.trim()),
    order: ORDERS.find(known => known === sent.get('order')?.at(-1)?.trim().toUpperCase()),
  }
  for (const { name, schema, parameter } of READ) {
    const texts = sent.get(parameter)
    if (!texts) continue
    try {
      read[name] = readTexts(schema, texts)
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      errors.push({ message: `${parameter} must be ${error.expected}`, parameter })
    }
  }
  if (errors.length > 0) throw new HttpError(400, { errors })
  if (!Value.Check(ListParameters, read)) throw new Error('a parameter was read as something that it is not')
  return read
}

/** Of a scalar that is repeated the last one wins. */
function readTexts(schema: TSchema, texts: Texts): unknown {
  if (schema.type === 'array' && texts.length > MAX_FILTER_VALUES)
    throw new Unreadable(`at most ${MAX_FILTER_VALUES} values`)
  const values = texts.map(text => {
    if (text === undefined) throw new Unreadable('a value or a list of values, without further brackets')
    // Postgres refuses NUL in text, and no name, seid or number holds the others.
    if (/\p{Cc}/u.test(text)) throw new Unreadable('free of control characters')
    return text
  })
  if (schema.type === 'array') return values.map(text => readValue(schema.items, text))
  return readValue(schema, values.at(-1) ?? '')
}

/** A name, brackets behind it, and whatever comes then: `filter[seids][0]`. */
const NAME = /^([^[]+)((?:\[[^\]]*\])*)(\[?)/

/**
 * U+FFFD stands for a text that somebody has lost, and would be looked for in its place: the server puts it where
 * bytes are no UTF-8 (sent raw, without any escape), other programs do so too, and so does URLSearchParams.
 */
const LOST = '\ufffd'

/** A "%" that begins no escape; URLSearchParams would keep it. */
const NO_ESCAPE = /%(?![\da-f]{2})/gi

/**
 * What was sent under each name: `page`, `filter[seids]`, or `filter` where that has no name in brackets. A list is
 * sent as `f=`, `f[]=` or `f[0]=`. A blank value equals an omitted one (spec 4.2, filter rule 2), whatever its name.
 * @throws HttpError 400
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
