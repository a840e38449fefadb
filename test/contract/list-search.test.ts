import { describe, expect, test } from 'bun:test'
import { assessment, educator, multiPart, organization, part, proctor, product } from '../support/fixtures.ts'
import { contract } from './support/contract.ts'
import { rule } from './support/rule.ts'

const named = (id: number, first: string, last: string, name = `#${id}`) =>
  educator(id, {
    name,
    first_name: first,
    last_name: last,
    email: `mail${id}@zmail.example`,
    seid: `Qseid${id}`,
  })

/** One assessment for each person, with the person's id. The product's name does not match any person. */
const people = [
  named(1, 'Ana', 'Ruiz', 'Dr. Ana M. Ruiz'),
  named(2, 'Ruizo', 'Anaru'),
  named(3, 'Mary Jo', 'Smith'),
  named(4, 'Jo', 'Smithson'),
  named(5, '100%', 'Per_cent'),
  named(6, '100x', 'Perxcent'),
  named(7, 'Back\\slash', "O'Brien"),
  named(8, 'ÉLODIE', 'Müßig'),
  named(9, 'Özgür', 'ΣΊΣΥΦΟΣ'),
  named(10, 'Наталія', '山田'),
  named(11, 'Plus+Sign', 'a=b;c&d,e'),
  named(12, 'Emoji😀', '"Quoted"'),
  named(13, '', 'Cher'),
  named(14, 'Anna\nMaria Lou', 'De\r\nVries\nBo Ti'),
]

const setup = {
  lines: [
    organization(10, 'Orgname'),
    product(1, 'Basic Skills'),
    product(2, 'Reading Observation Level Two'),
    product(3, 'MÖBEL 50%_off C:\\New'),
    product(4, 'Upper\nHalf Way'),
    proctor(77, 'Procname'),
    ...people,
    ...people.map(({ id }) => assessment(id, { user_id: id })),
    assessment(101, { user_id: 4, product_id: 2 }),
    assessment(102, { user_id: 4, product_id: 3 }),
    assessment(106, { user_id: 1, product_id: 4 }),
    multiPart(103, [part(104, { name: 'Partname one' }), part(105, { name: 'Partname two' })], {
      user_id: 6,
    }),
  ],
  integrations: { main: { organizations: [10], products: [1, 2, 3, 4] } },
} as const

contract('The search', setup, api => {
  /** The ids that a search finds. All assessments have the same day, so their order is that of the ids. */
  const search = (value: string) => api.ids([['filter[search]', value]])
  /** One test for each value, with the ids that the value finds. */
  const table = (rows: [ids: number[], ...values: string[]][]) =>
    test.each(rows.flatMap(([ids, ...values]) => values.map((value): [string, number[]] => [value, ids])))(
      '%j',
      async (value, ids) => expect(await search(value)).toEqual(ids),
    )

  describe(rule('finds a part of the assessment name, the first name or the last name:', 'F2'), () => {
    table([
      [[101], 'Observation', 'serva'],
      [[1, 2, 106], 'Ana', 'Ruiz'],
      [[3, 4, 101, 102], 'mith'],
      [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 103], 'Skills'],
      [[3], 'Mary'],
      [[13], 'Cher'],
      [[], 'nobody'],
    ])
  })

  describe(rule('finds no other field:', 'F2'), () => {
    table([
      [[], 'Dr.', 'M. Ruiz', 'zmail', 'Qseid1', 'Orgname', 'Procname', 'Partname', '501', '2026', 'active'],
    ])
  })

  describe(rule('for two words finds first name and last name, a part of each, or the phrase:', 'F2'), () => {
    table([
      [[1, 106], 'Ana Ruiz', 'na ui', 'AN RU', 'a u'],
      [[2], 'Ruiz Ana'],
      [[], 'Ana Smith', 'Mary Mary', 'Basic Ruiz', 'Ruiz Basic', 'Observation Reading', 'Reading Level'],
      [[], 'AnaRuiz'],
      [[3], 'Mary Jo', 'Mary Smith'],
      [[3, 4, 101, 102], 'Jo Smith'],
      [[101], 'Observation Level', 'ing Obs'],
    ])
  })

  describe('for three or more words finds only the phrase:', () => {
    table([
      [[], 'Mary Jo Smith', 'Reading Level Two', 'Ana M. Ruiz', 'Ana x Ruiz'],
      [[101], 'Reading Observation Level', 'ding observation level tw'],
    ])
  })

  describe('ignores white space around the text, and any white space separates words:', () => {
    table([
      [[1, 2, 106], '  Ana  '],
      [[1, 106], ' Ana Ruiz ', 'Ana   Ruiz', '\u00a0Ana\u2003Ruiz\ufeff'],
    ])
  })

  describe('takes %, _ and \\ literally:', () => {
    table([
      [[5, 102], '%', '_'],
      [[7, 102], '\\'],
      [[102], '%_', 'C:\\New', '50%_OFF'],
      [[5], '100%', 'er_c', '100% _'],
      [[], '1%0', '\\%', '\\_', '\\\\', '1__ Per%', '% %', '_ _', '.*', '^Ana$', '('],
      [[7], 'k\\s'],
    ])
  })

  describe('takes quotes and separators literally:', () => {
    table([
      [[7], "O'Brien"],
      [[], "' or 1=1 --", "'; drop table users; --", '$1', 'a,b'],
      [[12], '"quoted"', '😀'],
      [[11], 's+s', 'a=b;c&d,e'],
    ])
  })

  describe(rule('ignores case, also beyond ASCII:', 'F2'), () => {
    table([
      [[1, 106], 'aNA rUIZ'],
      [[101], 'READING observation'],
      [[8], 'élodie', 'Élodie', 'MÜßIG', 'élo müß'],
      // A lower-case sigma has another form at the end of a word. The end of the search text is not the end
      // of a word.
      [[9], 'ÖZGÜR', 'σίσυφ', 'ΣΊΣΥΦ', 'ΣΊΣΥΦΟΣ', 'σίσυφος', 'ΣΊΣ', 'σίσ', 'özg ΣΊΣ'],
      [[10], 'НАТАЛІЯ', 'талі 山'],
      [[102], 'möbel'],
      [[12], 'EMOJI😀'],
      [[], 'elodie'],
    ])
  })

  describe('takes a line break inside a name as a space, and does not match across two fields:', () => {
    table([
      [[14], 'Anna Maria Lou', 'Maria Vries', 'Vries Bo Ti', 'Lou De'],
      [[], 'Anna Lou', 'De Ti', 'Vries Anna', 'Maria Lou De', 'Ti Basic', 'Ruiz Upper', 'Half Upper'],
      [[106], 'Upper Half Way'],
      [[3, 106], 'r h'],
    ])
  })

  describe('accepts one and two characters, ASCII or not:', () => {
    table([
      [[6, 103], 'x', 'x p'],
      [[12], 'Q'],
      [[101, 102, 106], 'w'],
      [[3, 4, 101, 102], 'jo'],
      [[9], 'zg', 'ς', 'Σ'],
      [[8], 'é', 'ß'],
      [[9, 102], 'Ö'],
      [[102], 'ÖB'],
      [[10], 'я', '山', '山田', 'я 田'],
      [[], 'ñ', 'qx'],
    ])
  })

  test('accepts a text of any length', async () => {
    expect(await search('x'.repeat(10_000))).toEqual([])
    expect(await search('x '.repeat(5000))).toEqual([])
    expect(await search('%'.repeat(3000))).toEqual([])
  })
})
