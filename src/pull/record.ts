import type { TProperties, TSchema } from '@sinclair/typebox'
import { AssessmentRecord, ResultPart } from '../contract.ts'
import { isDay } from '../parameters.ts'

/** The kinds of values that the contract gives to its fields. */
type FieldKind = 'id' | 'text' | 'text or null' | 'day'

/** The fields of contract R2 and R7 in their order, but for `results`. */
export const RECORD_FIELDS = kindsOf(AssessmentRecord.properties)
export const PART_FIELDS = kindsOf(ResultPart.properties)

function kindsOf({ results, ...fields }: TProperties): Record<string, FieldKind> {
  const kindOf = ({ format, anyOf }: TSchema) =>
    format === 'int64' ? 'id' : format === 'date' ? 'day' : anyOf ? 'text or null' : 'text'
  return Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, kindOf(schema)]))
}

/** A record with the fields of the contract, and any others that the service sent. */
export interface Pulled {
  /** A bigint above 2^53. */
  id: number | bigint
  fields: Record<string, unknown> & { results: Record<string, unknown>[] }
  /** The record as JSON: the bytes that the service sent, if that was compact JSON. */
  line: string
}

/** A page of the list (contract L5): with all records that match, offset and page size as the service understood them. */
export interface Page {
  records: Pulled[]
  count: number
  offset: number
  page: number
}

/** The bytes are not the JSON of the contract. The message names a field or a fault, and quotes no data. */
export class UnexpectedJson extends Error {}

/** Reads the body of a page. @throws UnexpectedJson unless all of it is as the contract says */
export function parsePage(body: Uint8Array): Page {
  const text = decode(body)
  const { data, meta } = (parseJson(text) ?? {}) as { data?: unknown; meta?: Omit<Page, 'records'> }
  if (!Array.isArray(data)) throw new UnexpectedJson('data is no array')
  if (!meta || ![meta.count, meta.offset, meta.page].every(isCount))
    throw new UnexpectedJson('meta is no page')
  const replacer = LARGE_NUMBER.test(text) ? writeExactly : undefined
  const records = data.map(value => ({ ...checked(value), line: JSON.stringify(value, replacer) }))
  return { ...meta, records }
}

/** Reads a line of NDJSON. @throws UnexpectedJson unless it is a record of the contract */
export const readRecord = (line: string): Pulled => ({ ...checked(parseJson(line)), line })

/** Rejects bytes that are not UTF-8, and keeps a byte order mark, which JSON.parse rejects. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decode(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes)
  } catch {
    throw new UnexpectedJson('it is not UTF-8')
  }
}

/** A number that a JavaScript number may not be written back as: above 2^53, or with a fraction or an exponent. */
const LARGE_NUMBER = /[:[,]\s*-?\d+(?:\d{15}|[.eE])/

type Reviver = Parameters<typeof JSON.parse>[1]

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text, LARGE_NUMBER.test(text) ? (readExactly as Reviver) : undefined)
  } catch {
    throw new UnexpectedJson('it is not JSON')
  }
}

function readExactly(_: string, value: unknown, { source }: { source: string }): unknown {
  if (typeof value !== 'number') return value
  if (/^\d+$/.test(source)) return Number.isSafeInteger(value) ? value : BigInt(source)
  return String(value) === source ? value : rawJSON(source)
}

const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }

const writeExactly = (_: string, value: unknown) =>
  typeof value === 'bigint' ? rawJSON(String(value)) : value

/** The value, if it is a record of the contract. */
function checked(value: unknown): Pick<Pulled, 'id' | 'fields'> {
  const fields = value as Pulled['fields']
  checkFields(fields, RECORD_FIELDS, 'a record')
  if (!Array.isArray(fields.results)) throw new UnexpectedJson('results of a record is no array')
  for (const part of fields.results) checkFields(part, PART_FIELDS, 'a part')
  return { id: fields.id as Pulled['id'], fields }
}

const MAX_ID = 2n ** 63n - 1n

const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0

const IS: Record<FieldKind, (value: unknown) => boolean> = {
  id: value => (typeof value === 'bigint' ? value <= MAX_ID : isCount(value)),
  text: value => typeof value === 'string',
  'text or null': value => value === null || typeof value === 'string',
  day: value => typeof value === 'string' && isDay(value),
}

function checkFields(
  value: Record<string, unknown> | null,
  fields: Record<string, FieldKind>,
  owner: string,
): void {
  if (typeof value !== 'object' || value === null) throw new UnexpectedJson(`${owner} is no object`)
  for (const name in fields) {
    const kind = fields[name] as FieldKind
    if (!IS[kind](value[name])) throw new UnexpectedJson(`${name} of ${owner} is no ${kind}`)
  }
}
