import { decoded, parseJson, UnexpectedJson } from './json.ts'

/** The fields of spec 2.1 and 2.2 in their order, and the values that the contract has for them. */
export const RECORD_FIELDS = {
  id: 'id',
  seid: 'text or null',
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

export type FieldKind = 'id' | 'text' | 'text or null' | 'day'

/** The fields of the contract, and whatever else was sent. An id that is not exact as a number is a bigint. */
export type PulledPart = Record<string, unknown>
export type PulledRecord = PulledPart & { id: number | bigint; results: PulledPart[] }

const MAX_ID = 2n ** 63n - 1n

const IS: Record<FieldKind, (value: unknown) => boolean> = {
  id: value =>
    typeof value === 'bigint' ? value <= MAX_ID : Number.isSafeInteger(value) && Number(value) >= 0,
  text: value => typeof value === 'string',
  'text or null': value => value === null || typeof value === 'string',
  day: value => typeof value === 'string' && isDay(value),
}

/**
 * The records of whole NDJSON lines.
 * @throws UnexpectedJson when a line holds no record of the contract; names a field, and quotes nothing
 */
export function readRecords(lines: Uint8Array): PulledRecord[] {
  const texts = decoded(lines).split('\n')
  texts.pop()
  return texts.map(readRecord)
}

function readRecord(text: string): PulledRecord {
  const record = parseJson(text)
  checkRecord(record)
  return record
}

const RECORD_CHECKS = checksOf(RECORD_FIELDS)
const PART_CHECKS = checksOf(PART_FIELDS)

function checkRecord(record: unknown): asserts record is PulledRecord {
  check(record, RECORD_CHECKS, 'a record')
  if (!Array.isArray(record.results)) throw new UnexpectedJson('results of a record is no array')
  for (const part of record.results) check(part, PART_CHECKS, 'a part')
}

type Checks = { name: string; kind: FieldKind; is(value: unknown): boolean }[]

function checksOf(fields: Record<string, FieldKind>): Checks {
  return Object.entries(fields).map(([name, kind]) => ({ name, kind, is: IS[kind] }))
}

function check(value: unknown, checks: Checks, what: string): asserts value is Record<string, unknown> {
  if (!isObject(value)) throw new UnexpectedJson(`${what} is no object`)
  for (const { name, kind, is } of checks)
    if (!is(value[name])) throw new UnexpectedJson(`${name} of ${what} is no ${kind}`)
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

/** Days that every month has, which are told without a calendar. */
const ORDINARY = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])$/

/** Whether a text is a day that there is, as 2026-03-01. */
function isDay(text: string): boolean {
  if (ORDINARY.test(text)) return true
  const time = Date.parse(`${text}T00:00:00Z`)
  return text.length === 10 && !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
}
