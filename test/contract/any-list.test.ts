import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { NO_IDS } from '../support/bad-values.ts'
import { use } from '../support/hooks.ts'
import { list, tryList } from '../support/http.ts'
import { LIST_FILTERS, type ListFilter, type ListRequest, Oracle } from '../support/oracle.ts'
import { dayOf, type Platform } from '../support/oracle-records.ts'
import { platform, SEIDS } from '../support/platform.ts'
import { holds } from '../support/property.ts'
import { startExecutable } from '../support/served.ts'
import { provisionScopes } from '../support/stored-platform.ts'

/** The spellings of an array parameter, which are equivalent. */
type Spelling = 'brackets' | 'indexes' | 'bare' | 'encoded'

interface Question {
  asked: ListRequest
  scope: number
  spelling: Spelling
  /** Earlier values of scalar parameters, which the later value overrides, and unknown parameters. */
  noise: boolean
}

/** The parts of a request, before its values are taken from the data. */
const seldom = <T>(arbitrary: fc.Arbitrary<T>, weight = 5) =>
  fc.oneof({ weight, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })
const often = <T>(arbitrary: fc.Arbitrary<T>) => seldom(arbitrary, 1)
const blank = fc.constantFrom('', ' ', '  ')
const pick = fc.record({ at: fc.nat(), variant: fc.nat(11), length: fc.nat(6) })
type Pick = { at: number; variant: number; length: number }
const picks = fc.array(pick, { minLength: 1, maxLength: 4 })

const SORTS = ['certified_on', 'user_name', 'proctor_name', 'product_name']

const draft = fc.record({
  scope: fc.nat(3),
  spelling: fc.constantFrom<Spelling>('brackets', 'indexes', 'bare', 'encoded'),
  noise: fc.boolean(),
  page: often(
    fc.oneof(
      fc.integer({ min: 1, max: 12 }).map(String),
      fc.constantFrom('99', '100', '101', '5000', '', ' '),
    ),
  ),
  offset: often(
    fc.oneof(fc.nat(40).map(String), fc.constantFrom('0', '99', '100', '1000000000000', '', ' ')),
  ),
  sort: often(fc.oneof(fc.constantFrom(...SORTS), fc.constantFrom('nonsense', 'id', 'USER_NAME', ''))),
  order: often(fc.constantFrom('ASC', 'DESC', 'asc', 'desc', 'dEsC', 'descending', '')),
  search: seldom(fc.oneof({ weight: 9, arbitrary: pick }, { weight: 1, arbitrary: blank }), 2),
  start_date: seldom(fc.oneof({ weight: 9, arbitrary: pick }, { weight: 1, arbitrary: blank })),
  end_date: seldom(fc.oneof({ weight: 9, arbitrary: pick }, { weight: 1, arbitrary: blank })),
  product_ids: seldom(picks),
  user_ids: seldom(picks),
  seids: seldom(picks),
  proctor_ids: seldom(picks),
  organization_ids: seldom(picks),
  user_record_status: seldom(picks),
  legacy_record: seldom(picks),
})

type Draft = typeof draft extends fc.Arbitrary<infer T> ? T : never

/** Mostly values from the data, so that most requests match something; some values are not in the data. */
function settle(data: Platform, drawn: Draft): Question {
  const pools: Record<ListFilter, string[]> = {
    product_ids: data.products.map(row => String(row.id)),
    user_ids: data.users.map(row => String(row.id)),
    seids: [...SEIDS, ' 7', '0012\u00a0 ', 'null'],
    proctor_ids: data.users.map(row => String(row.id)),
    organization_ids: data.organizations.map(row => String(row.id)),
    user_record_status: ['active', 'archived'],
    legacy_record: ['true', 'false', '1', '0', 'TRUE', 'False'],
  }
  const value = (filter: ListFilter, { at, variant }: Pick): string => {
    if (variant === 0) return ' '.repeat(at % 3)
    if (variant === 1 && filter.endsWith('ids')) return NO_IDS[at % NO_IDS.length] as string
    return pools[filter][at % pools[filter].length] as string
  }
  const lists = Object.fromEntries(
    LIST_FILTERS.map(filter => {
      const values = drawn[filter]?.map(chosen => value(filter, chosen))
      // Without brackets a parameter can have only one value.
      return [filter, drawn.spelling === 'bare' ? values?.slice(0, 1) : values]
    }),
  )
  const day = (drawn: Pick | string | undefined) => (typeof drawn === 'object' ? someDay(data, drawn) : drawn)
  const { scope, spelling, noise, page, offset, sort, order } = drawn
  const search = typeof drawn.search === 'object' ? someNeedle(data, drawn.search) : drawn.search
  const asked = { page, offset, sort, order, search, lists }
  const days = { start_date: day(drawn.start_date), end_date: day(drawn.end_date) }
  return { asked: { ...asked, ...days }, scope, spelling, noise }
}

function someDay({ assessments, zone }: Platform, { at, variant }: Pick): string {
  const around = assessments[at % Math.max(assessments.length, 1)]?.micros ?? 0
  // A day of a record, the day before, the day after, or a distant day.
  if (variant === 11) return at % 2 ? '0001-01-01' : '9999-12-31'
  return dayOf(around + ((variant % 3) - 1) * 86_400_000_000, zone)
}

/**
 * A part of a name in another case, of first and last name together, or across the boundary of two fields.
 */
function someNeedle({ assessments, users, products }: Platform, { at, variant, length }: Pick): string {
  const one = assessments[at % Math.max(assessments.length, 1)]
  const user = users.find(row => row.id === one?.user_id) ?? users[0]
  const product = products.find(row => row.id === one?.product_id) ?? products[0]
  const [first = '', last = '', name = ''] = [user?.first_name, user?.last_name, product?.name]
  const some = (text: string) => {
    const characters = [...text]
    const from = at % Math.max(characters.length, 1)
    return characters.slice(from, from + length + 1).join('')
  }
  const kinds = [
    ...[some(name), some(first), some(last), name, `${some(first)} ${some(last)}`, `${first}  ${last}`],
    ...[`${some(last)} ${some(first)}`, `${some(last)} ${some(name)}`, ` ${some(first)} `],
    ...[`${first} ${last} x`, some(`${first} ${last} ${name}`), '%'],
  ]
  const needle = kinds[variant] as string
  return [needle, needle.toUpperCase(), needle.toLowerCase()][at % 3] as string
}

/** The query string of the request. */
function encode({ asked, spelling, noise }: Question): string {
  const pairs: string[] = []
  const add = (key: string, value: string) => {
    const text = encodeURIComponent(value)
    pairs.push(
      `${spelling === 'encoded' ? encodeURIComponent(key) : key}=${noise ? text.replaceAll('%20', '+') : text}`,
    )
  }
  const { lists, page, offset, sort, order, ...filters } = asked
  const scalar = (key: string, value: string | undefined, overridden: string) => {
    if (value === undefined) return
    if (noise && value.trim() !== '') add(key, overridden)
    add(key, value)
  }
  scalar('page', page, '3')
  scalar('offset', offset, '2')
  scalar('sort', sort, 'user_name')
  scalar('order', order, 'DESC')
  for (const name of ['search', 'start_date', 'end_date'] as const) {
    scalar(`filter[${name}]`, filters[name], '2024-11-03')
  }
  for (const filter of LIST_FILTERS) {
    for (const [at, value] of (lists[filter] ?? []).entries()) {
      const brackets = { brackets: '[]', encoded: '[]', indexes: `[${at}]`, bare: '' }[spelling]
      add(`filter[${filter}]${brackets}`, value)
    }
  }
  if (noise) pairs.push('fields=id', 'filter[unknown][]=1', 'filter%5Bcolour%5D=red', '')
  return pairs.join('&')
}

describe('any list request', () => {
  const service = use(startExecutable)

  /** The texts of all records, read page by page until the count is reached (contract L7). */
  async function walk(token: string, { asked, ...question }: Question, size: number): Promise<string[]> {
    const records: object[] = []
    for (let offset = 0, count = 1; offset < count; offset += size) {
      const page = { asked: { ...asked, page: String(size), offset: String(offset) }, ...question }
      const { data, meta } = await list(service.baseUrl, token, encode(page))
      records.push(...data)
      count = meta.count
    }
    return records.map(record => JSON.stringify(record))
  }

  test('gets the answer of the oracle, for each page and for the whole walk', async () => {
    const property = fc.asyncProperty(
      platform,
      fc.array(draft, { minLength: 1, maxLength: 40, size: 'max' }),
      fc.integer({ min: 1, max: 12 }),
      async (data, drafts, size) => {
        const scoped = await provisionScopes(service, data)
        const oracle = new Oracle(data)
        const questions = drafts.map(drawn => settle(data, drawn))
        const check = async (question: Question) => {
          const { scope, token } = scoped[question.scope] as (typeof scoped)[number]
          const queryString = encode(question)
          const { status, text } = await tryList(service.baseUrl, token, queryString)
          const expected = { queryString, status: 200, text: oracle.list(scope, question.asked) }
          expect({ queryString, status, text }).toEqual(expected)
        }
        await Promise.all(questions.map(check))

        const question = questions[0] as Question
        const { scope, token } = scoped[question.scope] as (typeof scoped)[number]
        expect(await walk(token, question, size)).toEqual(oracle.documents(scope, question.asked))
      },
    )
    await holds(property, { runs: 6, thorough: 30 })
  })
})
