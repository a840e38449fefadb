import type { TSchema } from '@sinclair/typebox'
import qs from 'qs'
import { apiError, type ErrorItem, HttpError } from '../answers.ts'
import { Filter, ListQuery, MAX_FILTER_VALUES, MAX_PAGE, ORDERS, SORTS } from './parameters.ts'
import { readValue, Unreadable } from './values.ts'

/** Bytes of query string that are read; a client that needs more sends several requests. */
export const MAX_QUERY_BYTES = 16 * 1024

/**
 * Reads the query string of a list request, without its "?" (spec 4.2, design §5). Pure.
 *
 * What the spec says falls back, falls back; unknown names are ignored; blanks are dropped. A value that
 * is there and can not be read is an error and never dropped: dropping it would widen the answer.
 * @throws HttpError 400 that names every unreadable parameter
 */
export function parseListQuery(queryString: string): ListQuery {
  if (queryString.length > MAX_QUERY_BYTES) {
    throw apiError(400, `The query string is longer than ${MAX_QUERY_BYTES} bytes: send several requests`)
  }
  const parameters = decode(queryString)
  const errors: ErrorItem[] = []

  const read = (schema: TSchema, value: unknown, parameter: string): unknown => {
    try {
      return schema.type === 'array' ? readMany(schema, value) : readLast(schema, value)
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      errors.push({ message: `${parameter} must be ${error.expected}`, parameter })
      return undefined
    }
  }
  const readFilter = (): Filter => {
    const given = isMap(parameters.filter) ? parameters.filter : {}
    const isMalformed = parameters.filter !== undefined && !isMap(parameters.filter)
    if (isMalformed || Object.keys(given).some(name => name.startsWith('['))) {
      errors.push({
        message: 'filter must be sent as filter[name]=value or filter[name][]=value',
        parameter: 'filter',
      })
    }
    const filter: Record<string, unknown> = {}
    for (const [name, schema] of Object.entries(Filter.properties)) {
      const value = read(schema, given[name], `filter[${name}]`)
      if (value !== undefined) filter[name] = value
    }
    return filter as Filter
  }

  const { page, offset } = ListQuery.properties
  const query: ListQuery = {
    page: Math.min((read(page, parameters.page, 'page') ?? page.default) as number, MAX_PAGE),
    offset: (read(offset, parameters.offset, 'offset') ?? offset.default) as number,
    sort: SORTS.find(sort => sort === lastText(parameters.sort)) ?? SORTS[0],
    order: ORDERS.find(order => order === lastText(parameters.order)?.toUpperCase()) ?? ORDERS[0],
    filter: readFilter(),
  }
  if (errors.length > 0) throw new HttpError(400, { errors })
  return query
}

/** For the two parameters that fall back and are never an error, whatever they hold (spec 7.3). */
function lastText(value: unknown): string | undefined {
  const texts = [value].flat().flatMap(text => (typeof text === 'string' ? [text.trim()] : []))
  return texts.findLast(text => text !== '')
}

/** A scalar that is repeated: the last one that is not blank wins. */
function readLast(schema: TSchema, value: unknown): unknown {
  const last = texts(value).at(-1)
  return last === undefined ? undefined : readValue(schema, last)
}

/** An array left empty is an omitted filter. */
function readMany(schema: TSchema, value: unknown): unknown[] | undefined {
  const values = texts(value)
  if (values.length > MAX_FILTER_VALUES) throw new Unreadable(`at most ${MAX_FILTER_VALUES} values`)
  return values.length === 0 ? undefined : values.map(text => readValue(schema.items, text))
}

/** The non-blank values under one name, however they were sent: `f=`, `f[]=`, or `f[0]=`. */
function texts(value: unknown): string[] {
  const values =
    isMap(value) && Object.keys(value).every(key => /^\d+$/.test(key)) ? Object.values(value) : value
  return [values ?? []].flat().flatMap(text => {
    if (typeof text !== 'string')
      throw new Unreadable('a value or a list of values, without further brackets')
    if (text.trim() === '') return []
    // Postgres refuses NUL in text, and no name, seid or number holds the others.
    if (/\p{Cc}/u.test(text)) throw new Unreadable('free of control characters')
    return [text]
  })
}

type Parameters = Record<string, unknown>

function isMap(value: unknown): value is Parameters {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * The library's own limits are lifted: past them it would turn arrays into objects and drop parameters
 * silently, and MAX_QUERY_BYTES bounds the work already. Null-prototype maps: `__proto__` is just a name.
 */
function decode(queryString: string): Parameters {
  return qs.parse(queryString, {
    plainObjects: true,
    depth: 2,
    // Past it the library makes maps of numbers, which are read the same; far indexes would cost it long arrays.
    arrayLimit: 100,
    parameterLimit: Number.POSITIVE_INFINITY,
    decoder: decodeComponent,
  })
}

/**
 * U+FFFD is what the server puts in the place of bytes that are no UTF-8 (sent raw, without any escape), and what
 * other programs do: it stands for a text that somebody has lost, and would be looked for in its place.
 */
function decodeComponent(component: string): string {
  try {
    const text = decodeURIComponent(component.replaceAll('+', ' '))
    if (!text.includes('\ufffd')) return text
  } catch {}
  throw apiError(400, 'The query string is not valid percent-encoded UTF-8')
}
