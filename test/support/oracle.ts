/**
 * The expected answers of the service, computed in memory from docs/contract.md and docs/decisions.md. The oracle
 * shares no code with the service: days come from Intl, folding from toLowerCase(), and every rule is written out.
 * Answers are strings, to be compared byte for byte: compact JSON, with keys in the order of the contract.
 */

import { type Platform, type View, viewsOf } from './oracle-records.ts'

export interface Scope {
  organizations: number[]
  products: number[]
}

const SCALARS = ['page', 'offset', 'sort', 'order'] as const
const SCALAR_FILTERS = ['search', 'start_date', 'end_date'] as const

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

/** The parameters of a request as they were sent: blank values are included, and no value is parsed. */
export type ListRequest = Partial<
  Record<(typeof SCALARS | typeof SCALAR_FILTERS)[number], string | undefined>
> & {
  lists: Partial<Record<ListFilter, string[] | undefined>>
}

/** Parses a query string in the spelling of contract F1, with each scalar parameter at most once. */
export function parseRequest(query: string): ListRequest {
  const request: ListRequest = { lists: {} }
  for (const [key, value] of new URLSearchParams(query)) {
    const scalar =
      SCALARS.find(name => key === name) ?? SCALAR_FILTERS.find(name => key === `filter[${name}]`)
    const list = LIST_FILTERS.find(name => key === `filter[${name}][]`)
    if (scalar) request[scalar] = value
    else if (list) request.lists[list] = [...(request.lists[list] ?? []), value]
    else throw new Error(`the contract has no parameter ${key}`)
  }
  return request
}

/** The answers about one state of a platform. Computed answers are cached, because tests repeat many requests. */
export class Oracle {
  /** Every record of the platform, by id. */
  private readonly records: Map<number, View>
  private readonly selections = new Map<string, View[]>()

  constructor(platform: Platform) {
    const views = viewsOf(platform).sort((a, b) => a.assessment.id - b.assessment.id)
    this.records = new Map(views.map(view => [view.assessment.id, view]))
  }

  /** The body of a list (contract L5). */
  list(scope: Scope, request: ListRequest): string {
    const matching = this.select(scope, request)
    const page = Math.min(isBlank(request.page) ? 50 : Number(request.page), 100)
    const offset = isBlank(request.offset) ? 0 : Number(request.offset)
    const data = matching.slice(offset, offset + page).map(({ text }) => text)
    return `{"data":[${data.join()}],"meta":${JSON.stringify({ count: matching.length, offset, page })}}`
  }

  /** All matching records as JSON in the requested order, without paging. */
  documents(scope: Scope, request: ListRequest): string[] {
    return this.select(scope, request).map(({ text }) => text)
  }

  /** The body of a single record (contract G2), or undefined if the answer is 404. */
  document(scope: Scope, id: number): string | undefined {
    const view = this.records.get(id)
    return view && isInScope(view, scope) ? view.text : undefined
  }

  private select(scope: Scope, { page: _, offset: __, ...request }: ListRequest): View[] {
    const key = JSON.stringify([scope.organizations, scope.products, request])
    let selection = this.selections.get(key)
    if (!selection) {
      selection = inOrder(
        [...this.records.values()].filter(view => isInScope(view, scope) && matches(view, request)),
        request,
      )
      this.selections.set(key, selection)
    }
    return selection
  }
}

/** Sorts by the requested key and then by id, both in the requested direction. */
function inOrder(views: View[], { sort, order }: ListRequest): View[] {
  const keyed = views.map(view => ({ view, key: sortKey(view, sort) }))
  keyed.sort((a, b) => compareCodePoints(a.key, b.key) || a.view.assessment.id - b.view.assessment.id)
  const sorted = keyed.map(({ view }) => view)
  return order?.toUpperCase() === 'DESC' ? sorted.reverse() : sorted
}

function isInScope({ assessment }: View, scope: Scope): boolean {
  return (
    scope.organizations.includes(assessment.organization_id) && scope.products.includes(assessment.product_id)
  )
}

function matches({ assessment, user, record }: View, request: ListRequest): boolean {
  const { lists, search, start_date, end_date } = request
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
    has('seids', value => user.seid !== null && user.seid === value.trim()) &&
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

/** Folds case. Σ has two lower cases, σ and, at the end of a word, ς; a search treats all three as one letter. */
function withoutCase(text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ')
}

function sortKey({ record }: View, sort: string | undefined): string {
  if (sort === 'user_name') return record.name.toLowerCase()
  if (sort === 'product_name') return record.assessment_name.toLowerCase()
  if (sort === 'proctor_name') return (record.results[0]?.proctor_name ?? '').toLowerCase()
  return record.certified_on
}

/** Compares by code point. The operator `<` compares UTF-16 units, and so puts U+1F600 before U+FF21. */
function compareCodePoints(a: string, b: string): number {
  for (let at = 0; ; at++) {
    const [left, right] = [a.codePointAt(at), b.codePointAt(at)]
    if (left === undefined || right === undefined) return a.length - b.length
    if (left !== right) return left - right
  }
}

function isBlank(value: string | undefined): boolean {
  return value === undefined || value.trim() === ''
}
