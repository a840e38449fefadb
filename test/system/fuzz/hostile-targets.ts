import fc from 'fast-check'
import {
  INHERITED,
  NO_DAYS,
  NO_IDS,
  NO_NUMBERS,
  NO_UTF8,
  OTHER_PATHS,
  words,
} from '../../support/bad-values.ts'
import { LIST, TOKEN } from '../../support/http.ts'
import type { Keys } from './hostile.ts'

/** Texts that are known to break programs. */
export const NAUGHTY = [
  ...[...NO_NUMBERS, ...NO_IDS, ...NO_DAYS, ...INHERITED, ...NO_UTF8],
  ...words('-0 undefined true [] {} 2147483648 4294967296 -9223372036854775809 then length __defineGetter__'),
  ...words(String.raw`00000000000000000001 ' '' $1 $$ \ _ %%% \\% " {1,2 {{}}`),
  ...words('../../etc/passwd ..%2f / // . .. %00 %2525 + & = # ? 0000-00-00 -0001-01-01 epoch'),
  ...['', ' ', '1\u00a0', '[object Object]', `' or 1=1 --`, `'; select pg_sleep(5); --`],
  ...['\0', 'a\0b', '\n', '\r\nX-A: b', '\t', '\u001b[31m', '\u0085', '\u2028', '\ufeff', '\u200b', '\u202e'],
  ...['\ud800', '\udfff\ud800', '😀', 'é', 'e\u0301', 'İ', 'ß', 'ς', 'ﬁ', '\u{10ffff}', '𝕏'.repeat(50)],
  ...['a'.repeat(300), '('.repeat(500), 'ab '.repeat(400), '%'.repeat(500), '_'.repeat(900)],
]

const digits = fc.integer({ min: -5, max: 1_000_000 }).map(String)

/** Any text: known nonsense, numbers, or characters of any kind. */
export const anyText = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...NAUGHTY) },
  { weight: 2, arbitrary: digits },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
  { weight: 1, arbitrary: fc.string({ maxLength: 30 }) },
)

const FILTERS = [
  ...words('search start_date end_date product_ids user_ids seids proctor_ids organization_ids'),
  ...['user_record_status', 'legacy_record', 'unknown', '__proto__', ''],
]
const BRACKETS = [...words('[] [] [] [0] [1] [999999999] [-1] [a] [][] [ ] [[]] [__proto__] [a][b][c]'), '']
const NAMES = [
  ...words('page offset sort order filter access_token client_secret bearer __proto__ constructor'),
  '',
]
const VALUES = [
  ...words('1 50 100 101 certified_on user_name desc active archived true 2026-01-01 ar'),
  'Ana Ruiz',
]

const name = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.constantFrom(...FILTERS), fc.constantFrom(...BRACKETS))
      .map(([filter, brackets]) => `filter[${filter}]${brackets}`),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom(...NAMES), fc.constantFrom('', '', '', '[]', '[a]'))
      .map(parts => parts.join('')),
  },
  { weight: 1, arbitrary: anyText },
)

const value = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...VALUES) },
  { weight: 3, arbitrary: anyText },
)

/** Ways to write a text in a target. Characters that a target cannot contain are always escaped. */
const SPELLINGS: ((text: string) => string)[] = [
  text => bytesOf(text).map(escapedIfNeeded).join(''),
  text => bytesOf(text).map(escapedIfNeeded).join(''),
  text => bytesOf(text).map(escaped).join(''),
  text =>
    bytesOf(text)
      .map(byte => escaped(byte).toLowerCase())
      .join(''),
  // Ends in the middle of an escape.
  text => `${bytesOf(text).map(escaped).join('')}%4`,
]

const bytesOf = (text: string) => [...Buffer.from(text, 'utf8')]
const escaped = (byte: number) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`
const escapedIfNeeded = (byte: number) =>
  byte > 0x20 && byte !== 0x7f ? String.fromCharCode(byte) : escaped(byte)

const spelling = fc.constantFrom(...SPELLINGS)

const pair = fc
  .tuple(name, value, spelling, fc.constantFrom('=', '=', '=', '=', '=', '', '==', '=&='))
  .map(([name, value, spell, sign]) => `${spell(name)}${sign}${spell(value)}`)

/** Removes control characters, which the service refuses before it queries the database. */
const uncontrolled = (text: string) => text.replaceAll(/\p{Cc}/gu, '').toWellFormed()

const numbers = fc.oneof(
  fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }).map(String),
  digits,
  fc.constantFrom('', ' 7 '),
)
const days = fc
  .date({ noInvalidDate: true, min: new Date('0001-01-01'), max: new Date('9999-12-31') })
  .map(day => day.toISOString().slice(0, 10))

/** Valid pairs, whose values reach the database. */
const readable = fc.oneof(
  ...['product_ids', 'user_ids', 'proctor_ids', 'organization_ids'].map(name =>
    numbers.map(value => [`filter[${name}][]`, value]),
  ),
  anyText.map(text => ['filter[search]', uncontrolled(text)]),
  anyText.map(text => ['filter[seids][]', uncontrolled(text)]),
  fc.tuple(fc.constantFrom('start_date', 'end_date'), days).map(([name, day]) => [`filter[${name}]`, day]),
  anyText.map(text => ['sort', uncontrolled(text)]),
  fc.constantFrom('certified_on', 'user_name', 'proctor_name', 'product_name').map(sort => ['sort', sort]),
  fc.constantFrom('ASC', 'desc', 'sideways').map(order => ['order', order]),
  fc.integer({ min: 1, max: 2 ** 40 }).map(page => ['page', String(page)]),
  fc.maxSafeNat().map(offset => ['offset', String(offset)]),
  anyText.map(text => ['unknown', uncontrolled(text)]),
)

const READABLE_NAMES = words(
  'page offset sort order filter[search] filter[seids][] filter[user_ids][] filter[start_date]',
)

/** A pair with a valid name and any value. Everything else in its request is valid. */
const doubtful = fc
  .tuple(fc.constantFrom(...READABLE_NAMES), anyText)
  .map(([name, text]) => [name, text.toWellFormed()])

const readableQuery = fc
  .tuple(fc.array(readable, { minLength: 1, maxLength: 4 }), fc.option(doubtful, { freq: 2 }))
  .map(([pairs, last]) => (last ? [...pairs, last] : pairs))
  .map(
    pairs => `?${pairs.map(([name, value]) => `${name}=${encodeURIComponent(value as string)}`).join('&')}`,
  )

const query = fc.oneof(
  { weight: 3, arbitrary: fc.constant('') },
  { weight: 5, arbitrary: readableQuery },
  {
    weight: 6,
    arbitrary: fc.array(pair, { minLength: 1, maxLength: 5 }).map(pairs => `?${pairs.join('&')}`),
  },
  // More values than an array may have, and a longer query string than the service accepts.
  {
    weight: 1,
    arbitrary: fc
      .tuple(pair, fc.integer({ min: 1, max: 1500 }))
      .map(([pair, times]) => `?${Array(times).fill(pair).join('&').slice(0, 30_000)}`),
  },
  { weight: 1, arbitrary: fc.tuple(anyText, spelling).map(([text, spell]) => `?${spell(text)}`) },
)

/** Targets of the three endpoints, of the API's documentation, and similar wrong ones. */
export function targets({ ids }: Keys): fc.Arbitrary<string> {
  const id = fc.oneof(
    fc.constantFrom(...ids).map(String),
    fc.tuple(anyText, spelling).map(([text, spell]) => spell(text).replaceAll('?', '%3F')),
  )
  const path = fc.oneof(
    { weight: 10, arbitrary: fc.constant(LIST) },
    { weight: 5, arbitrary: id.map(id => `${LIST}/${id}`) },
    { weight: 6, arbitrary: fc.constant(TOKEN) },
    { weight: 2, arbitrary: fc.constantFrom(...BESIDE) },
    { weight: 1, arbitrary: fc.constantFrom('/openapi.json', '/docs') },
    { weight: 1, arbitrary: fc.tuple(anyText, spelling).map(([text, spell]) => `/${spell(text)}`) },
  )
  return fc.tuple(path, query).map(([path, query]) => path + query)
}

const BESIDE = [
  ...OTHER_PATHS,
  ...words(`// * /% /.. /%2e%2e/ ${LIST}// ${LIST}/1/2 ${LIST};a=b ${LIST}%00 ${LIST}#a`),
  ...words(`http://other.example${LIST} ${TOKEN}%20 /oauth/../oauth/token`),
  ...words('/live /ready /metrics /favicon.ico /docs/ /docs/page.ts /.env /api/v1/ax/assessments/%2e%2e'),
  ...[`/${'a/'.repeat(2000)}`, `/${'%2f'.repeat(500)}`, '/api/v1/ax/assessment\u00e9s'],
]
