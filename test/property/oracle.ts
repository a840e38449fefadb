/**
 * What the list request has to answer, computed in memory from the specification and the decisions beside
 * it. It shares no code with the service: days come from Intl, folding from toLowerCase(), and every rule
 * is written the long way.
 */

interface Named {
  id: number
  name: string
}

export interface User extends Named {
  first_name: string
  last_name: string
  email: string
  seid: string | null
  record_status: 'active' | 'archived'
}

/** `micros` counts microseconds since 1970. */
export interface Part extends Named {
  micros: bigint
  proctor_id: number
}

/** One without separate parts has a proctor of its own and no `parts`. */
export interface Assessment {
  id: number
  user_id: number
  organization_id: number
  product_id: number
  micros: bigint
  legacy_record: boolean
  proctor_id: number
  parts: Part[]
}

/** A platform's data, and the time zone it lives in. */
export interface Platform {
  zone: string
  organizations: Named[]
  products: Named[]
  users: User[]
  assessments: Assessment[]
}

export interface Scope {
  organizations: number[]
  products: number[]
}

export const LIST_FILTERS = [
  'product_ids',
  'user_ids',
  'seids',
  'proctor_ids',
  'organization_ids',
  'user_record_status',
  'legacy_record',
] as const

export type ListFilter = (typeof LIST_FILTERS)[number]

/** The values of a request as they were sent: blank ones included, nothing read yet. */
export interface Asked {
  page?: string | undefined
  offset?: string | undefined
  sort?: string | undefined
  order?: string | undefined
  search?: string | undefined
  start_date?: string | undefined
  end_date?: string | undefined
  lists: Partial<Record<ListFilter, string[] | undefined>>
}

/** The whole body of the answer (spec 4.2). */
export function expectedList(platform: Platform, scope: Scope, asked: Asked) {
  const matching = expectedRecords(platform, scope, asked)
  const page = Math.min(isBlank(asked.page) ? 50 : Number(asked.page), 100)
  const offset = isBlank(asked.offset) ? 0 : Number(asked.offset)
  return {
    data: matching.slice(offset, offset + page),
    meta: { count: matching.length, offset, page },
  }
}

/** Everything that matches, in the order that was asked for, without paging. */
export function expectedRecords(platform: Platform, scope: Scope, asked: Asked) {
  const descending = asked.order?.toUpperCase() === 'DESC'
  return platform.assessments
    .map(assessment => view(platform, assessment))
    .filter(candidate => isInScope(candidate, scope) && matches(candidate, asked))
    .sort((a, b) => {
      const byKey = compareCodePoints(sortKey(a, asked.sort), sortKey(b, asked.sort))
      const total = byKey === 0 ? a.assessment.id - b.assessment.id : byKey
      return descending ? -total : total
    })
    .map(candidate => candidate.record)
}

type View = ReturnType<typeof view>

/** The record of spec 2.1 and 2.2, and beside it what the rules speak of but the record does not show. */
function view({ zone, users, organizations, products }: Platform, assessment: Assessment) {
  const user = byId(users, assessment.user_id)
  const product = byId(products, assessment.product_id)
  const itself = { id: assessment.id, name: product.name, micros: assessment.micros }
  const parts =
    assessment.parts.length > 0 ? assessment.parts : [{ ...itself, proctor_id: assessment.proctor_id }]
  const record = {
    id: assessment.id,
    seid: user.seid,
    name: user.name,
    first_name: user.first_name,
    last_name: user.last_name,
    email: user.email,
    organization_id: assessment.organization_id,
    organization_name: byId(organizations, assessment.organization_id).name,
    assessment_name: product.name,
    certified_on: dayOf(assessment.micros, zone),
    results: parts.map(part => ({
      assessment_id: part.id,
      assessment_name: part.name,
      certified_on: dayOf(part.micros, zone),
      proctor_id: part.proctor_id,
      proctor_name: byId(users, part.proctor_id).name,
    })),
  }
  return { assessment, user, record }
}

function isInScope({ assessment }: View, scope: Scope): boolean {
  return (
    scope.organizations.includes(assessment.organization_id) && scope.products.includes(assessment.product_id)
  )
}

function matches({ assessment, user, record }: View, asked: Asked): boolean {
  const { lists, search, start_date, end_date } = asked
  const has = (filter: ListFilter, isOne: (value: string) => boolean) => {
    const values = (lists[filter] ?? []).filter(value => !isBlank(value))
    return values.length === 0 || values.some(isOne)
  }
  const isId = (id: number) => (value: string) => BigInt(value) === BigInt(id)
  return (
    has('product_ids', isId(assessment.product_id)) &&
    has('user_ids', isId(assessment.user_id)) &&
    has('organization_ids', isId(assessment.organization_id)) &&
    has('proctor_ids', value => record.results.some(part => isId(part.proctor_id)(value))) &&
    has('seids', value => user.seid !== null && user.seid === value) &&
    has('user_record_status', value => user.record_status === value) &&
    has('legacy_record', value => assessment.legacy_record === /^(true|1)$/i.test(value)) &&
    (start_date === undefined || isBlank(start_date) || record.certified_on >= start_date) &&
    (end_date === undefined || isBlank(end_date) || record.certified_on <= end_date) &&
    (search === undefined || isBlank(search) || isFound(record, search))
  )
}

interface Searched {
  first_name: string
  last_name: string
  assessment_name: string
}

function isFound({ first_name, last_name, assessment_name }: Searched, search: string): boolean {
  const phrase = search.trim()
  const [first = '', last = '', ...more] = phrase.split(/ +/)
  const isPhrase = [assessment_name, first_name, last_name].some(text => contains(text, phrase))
  const isFullName =
    last !== '' && more.length === 0 && contains(first_name, first) && contains(last_name, last)
  return isPhrase || isFullName
}

function contains(text: string, part: string): boolean {
  return withoutCase(text).includes(withoutCase(part))
}

/** Σ has two lower cases, one of them at the end of a word only. Without regard to case, all three are one letter. */
function withoutCase(text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ')
}

function sortKey({ record }: View, sort: string | undefined): string {
  if (sort === 'user_name') return record.name.toLowerCase()
  if (sort === 'product_name') return record.assessment_name.toLowerCase()
  if (sort === 'proctor_name') return (record.results[0]?.proctor_name ?? '').toLowerCase()
  return record.certified_on
}

/** By code point. The language's own `<` compares UTF-16 units and puts U+1F600 before U+FF21. */
function compareCodePoints(a: string, b: string): number {
  const [left, right] = [[...a], [...b]]
  for (const [at, character] of left.entries()) {
    const other = right[at]
    if (other === undefined) return 1
    const difference = (character.codePointAt(0) ?? 0) - (other.codePointAt(0) ?? 0)
    if (difference !== 0) return difference
  }
  return left.length - right.length
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** The calendar day, YYYY-MM-DD, on which an instant falls in a time zone. */
export function dayOf(micros: bigint, timeZone: string): string {
  let format = formats.get(timeZone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' })
    formats.set(timeZone, format)
  }
  const parts = format.formatToParts(new Date(Number(micros / 1000n)))
  const value = (type: string) => parts.find(part => part.type === type)?.value
  return `${value('year')}-${value('month')}-${value('day')}`
}

function isBlank(value: string | undefined): boolean {
  return value === undefined || value.trim() === ''
}

function byId<T extends Named>(rows: T[], id: number): T {
  const row = rows.find(candidate => candidate.id === id)
  if (!row) throw new Error(`the generator made a reference to nothing: ${id}`)
  return row
}
