/** The fields of spec 2.1 and 2.2 in their order; what they hold, for formats with columns. */
export const RECORD_FIELDS = {
  id: 'id',
  seid: 'text',
  name: 'text',
  first_name: 'text',
  last_name: 'text',
  email: 'text',
  organization_id: 'id',
  organization_name: 'text',
  assessment_name: 'text',
  certified_on: 'day',
} as const

export const PART_FIELDS = {
  assessment_id: 'id',
  assessment_name: 'text',
  certified_on: 'day',
  proctor_id: 'id',
  proctor_name: 'text',
} as const

export type FieldKind = 'id' | 'text' | 'day'

/** As JSON gives it; an id that is not exact as a number is a bigint. */
export interface PulledRecord {
  [field: string]: unknown
  results?: Record<string, unknown>[]
}

/** Sixteen digits on: beyond the whole numbers that are exact in JavaScript. */
const LARGE_NUMBER = /[:[,]-?\d{16}/

/** The records of whole NDJSON lines. */
export function readRecords(lines: Uint8Array): PulledRecord[] {
  const texts = Buffer.from(lines.buffer, lines.byteOffset, lines.byteLength).toString().split('\n')
  texts.pop()
  return texts.map(text => JSON.parse(text, LARGE_NUMBER.test(text) ? (exactly as Reviver) : undefined))
}

type Reviver = Parameters<typeof JSON.parse>[1]

function exactly(_: string, value: unknown, { source }: { source: string }): unknown {
  return typeof value === 'number' && !Number.isSafeInteger(value) && /^\d+$/.test(source)
    ? BigInt(source)
    : value
}
