import fc from 'fast-check'
import type { Scope } from './oracle.ts'
import type { Assessment, Part, Platform } from './oracle-records.ts'

// The extremes west and east of UTC, an offset of 45 minutes, and the clock changes of the US and of Europe.
const ZONES = [
  'UTC',
  'America/New_York',
  'Pacific/Kiritimati',
  'Pacific/Niue',
  'Asia/Kathmandu',
  'Europe/Berlin',
]

/** Words with surprising case folding, order or matches, each with words that a wrong rule would confuse with it. */
const WORDS = [
  'Ana ana ANA an Zoë ZOË Élodie élodie École ecole Øst Åsa Öz zz',
  'İpek ipek Ipek ısı Straße STRASSE ẞ ß ǅ \u212a k ſ Ирина ИРИНА 李',
  // Greek, where the last sigma of a word folds differently. Characters above U+FFFF, which UTF-16 sorts before Ａ and
  // ﬁ.
  'ΣΊΣΥΦΟΣ σίσυφος 𝔸da 𐐀 𐐨 😀 Ａ \ufb01 e\u0301 E\u0301',
  `100% 1_0 % _ \\ a\\ O'Neil "Q" a&b=c a+b #1 ~ - {} null 1 10`,
].flatMap(line => line.split(' '))

const word = fc.constantFrom(...WORDS)
const name = fc.oneof(
  word,
  fc.tuple(word, word).map(words => words.join(' ')),
  fc.tuple(word, word).map(words => words.join('')),
)
const maybeNothing = fc.oneof({ weight: 5, arbitrary: name }, { weight: 1, arbitrary: fc.constant('') })

/** Seids are case-sensitive. Some of these look like numbers, and some like syntax. */
export const SEIDS = ['0012', '12', 'TX9', 'tx9', 'é', 'É', 'a,b', '1&2=3', '[]', '%', '7', 'nul', '1 2']

const seid = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...SEIDS) },
  { weight: 1, arbitrary: fc.constant(null) },
)

const user = fc.record({
  name,
  first_name: maybeNothing,
  last_name: maybeNothing,
  email: fc.constantFrom('', 'ana@example.org', 'é"\\@example.org'),
  seid,
  record_status: fc.constantFrom('active', 'archived'),
})

// Days of clock changes in the US and in Europe, a leap day, and both ends of a year.
const DAYS = '2024-03-10 2024-03-31 2024-10-27 2024-11-03 2024-02-29 2024-12-31 2025-01-01'.split(' ')
// In minutes UTC: the midnights of ZONES in standard and summer time, and the hours around their clock changes.
const MINUTES = [0, 60, 120, 300, 360, 420, 1380, 240, 600, 660, 1095, 1320]

const micros = fc
  .tuple(fc.constantFrom(...DAYS), fc.constantFrom(...MINUTES), fc.constantFrom(0, 0, -1, 1, 43_200_000_000))
  .map(([day, minutes, shift]) => (Date.parse(day) + minutes * 60_000) * 1000 + shift)

const part = fc.record({ name, micros, proctor: fc.nat() })

/** Most assessments have no separate parts, some have several, and a few have no part at all. */
const assessment = fc.record({
  user: fc.nat(),
  organization: fc.nat(),
  product: fc.nat(),
  micros,
  legacy_record: fc.boolean(),
  parts: fc.oneof(
    { weight: 20, arbitrary: fc.nat() },
    { weight: 10, arbitrary: fc.array(part, { minLength: 1, maxLength: 4 }) },
    { weight: 1, arbitrary: fc.array(part, { maxLength: 0 }) },
  ),
})

/**
 * A random platform with valid references, equal names, and instants around midnights. Ids are not in the order of
 * insertion, and some are large. Some platforms have more assessments than fit on a page.
 */
export const platform: fc.Arbitrary<Platform> = fc
  .record({
    zone: fc.constantFrom(...ZONES),
    organizations: fc.array(name, { minLength: 1, maxLength: 4 }),
    products: fc.array(name, { minLength: 1, maxLength: 4 }),
    users: fc.array(user, { minLength: 1, maxLength: 8 }),
    assessments: fc.array(assessment, { maxLength: 30, size: 'max' }),
    copies: fc.oneof(
      { weight: 4, arbitrary: fc.constant(1) },
      { weight: 1, arbitrary: fc.integer({ min: 2, max: 6 }) },
    ),
    salt: fc.nat(1000),
    scale: fc.constantFrom(1, 1, 900_000_000_000),
  })
  .map(drawn => {
    let last = drawn.salt
    // No id repeats, because 10,007 is prime. The largest id is below 2^53.
    const nextId = () => ((++last * 7919) % 10_007) * drawn.scale + 1
    const pick = <T>(rows: T[], at: number) => rows[at % rows.length] as T
    const organizations = drawn.organizations.map(name => ({ id: nextId(), name }))
    const products = drawn.products.map(name => ({ id: nextId(), name }))
    const users = drawn.users.map(user => ({ id: nextId(), ...user }))
    const partOf = (
      id: number,
      proctor: number,
      name: string | null = null,
      micros: number | null = null,
    ): Part => ({
      id,
      name,
      micros,
      proctor_id: pick(users, proctor).id,
    })
    const copies = Array.from({ length: drawn.copies }, () => drawn.assessments).flat()
    const assessments = copies.map(({ user, organization, product, parts, ...row }): Assessment => {
      const id = nextId()
      return {
        id,
        ...row,
        user_id: pick(users, user).id,
        organization_id: pick(organizations, organization).id,
        product_id: pick(products, product).id,
        parts:
          typeof parts === 'number'
            ? [partOf(id, parts)]
            : parts.map(({ name, micros, proctor }) => partOf(nextId(), proctor, name, micros)),
      }
    })
    return { zone: drawn.zone, organizations, products, users, assessments }
  })

/** Four scopes: everything, one organization, one product, and one of each. */
export function scopesOf({ organizations, products }: Platform): [Scope, Scope, Scope, Scope] {
  const all = { organizations: organizations.map(row => row.id), products: products.map(row => row.id) }
  const organization = { ...all, organizations: all.organizations.slice(0, 1) }
  const product = { ...all, products: all.products.slice(-1) }
  return [all, organization, product, { ...organization, products: product.products }]
}
