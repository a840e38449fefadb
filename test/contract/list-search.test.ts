import { describe, expect, test } from 'bun:test'
import { assessment, educator, multiPart, organization, part, proctor, product } from '../support/fixtures.ts'
import { contract } from './support/contract.ts'

const named = (id: number, first: string, last: string, name = `#${id}`) =>
  educator(id, {
    name,
    first_name: first,
    last_name: last,
    email: `mail${id}@zmail.example`,
    seid: `Qseid${id}`,
  })

/** One assessment a person, by the person's id; the product's name matches no person. */
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
  /** Ids in their order: all assessments are of one day, and ties go by id. */
  const search = (value: string) => api.ids([['filter[search]', value]])
  const table = (facts: [value: string, ids: number[]][]) =>
    test.each(facts)('%j', async (value, ids) => {
      expect(await search(value)).toEqual(ids)
    })

  // rule: 4.2 search
  describe('matches a part of the assessment name, the first name or the last name:', () => {
    table([
      ['Observation', [101]],
      ['serva', [101]],
      ['Ana', [1, 2, 106]],
      ['Ruiz', [1, 2, 106]],
      ['mith', [3, 4, 101, 102]],
      ['Skills', [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 103]],
      ['Mary', [3]],
      ['Cher', [13]],
      ['nobody', []],
    ])
  })

  // rule: 4.2 search
  describe('matches no other field:', () => {
    table([
      ['Dr.', []],
      ['M. Ruiz', []],
      ['zmail', []],
      ['Qseid1', []],
      ['Orgname', []],
      ['Procname', []],
      ['Partname', []],
      ['501', []],
      ['2026', []],
      ['active', []],
    ])
  })

  // rule: 4.2 search
  describe('of two words is the first name followed by the last, a part of each, or a phrase:', () => {
    table([
      ['Ana Ruiz', [1, 106]],
      ['na ui', [1, 106]],
      ['AN RU', [1, 106]],
      ['a u', [1, 106]],
      ['Ruiz Ana', [2]],
      ['Ana Smith', []],
      ['Mary Jo', [3]],
      ['Jo Smith', [3, 4, 101, 102]],
      ['Mary Smith', [3]],
      ['Mary Mary', []],
      ['Basic Ruiz', []],
      ['Ruiz Basic', []],
      ['Observation Level', [101]],
      ['ing Obs', [101]],
      ['Observation Reading', []],
      ['Reading Level', []],
      ['AnaRuiz', []],
    ])
  })

  describe('of three words or more is one phrase:', () => {
    table([
      ['Mary Jo Smith', []],
      ['Reading Observation Level', [101]],
      ['ding observation level tw', [101]],
      ['Reading Level Two', []],
      ['Ana M. Ruiz', []],
      ['Ana x Ruiz', []],
    ])
  })

  describe('is trimmed, and words may be any white space apart:', () => {
    table([
      ['  Ana  ', [1, 2, 106]],
      [' Ana Ruiz ', [1, 106]],
      ['Ana   Ruiz', [1, 106]],
      ['\u00a0Ana\u2003Ruiz\ufeff', [1, 106]],
    ])
  })

  describe('takes %, _ and \\ as they are:', () => {
    table([
      ['%', [5, 102]],
      ['_', [5, 102]],
      ['\\', [7, 102]],
      ['%_', [102]],
      ['100%', [5]],
      ['1%0', []],
      ['er_c', [5]],
      ['k\\s', [7]],
      ['C:\\New', [102]],
      ['\\%', []],
      ['\\_', []],
      ['\\\\', []],
      ['100% _', [5]],
      ['1__ Per%', []],
      ['% %', []],
      ['_ _', []],
      ['50%_OFF', [102]],
      ['.*', []],
      ['^Ana$', []],
      ['(', []],
    ])
  })

  describe('takes quotes and separators as they are:', () => {
    table([
      ["O'Brien", [7]],
      ["' or 1=1 --", []],
      ["'; drop table users; --", []],
      ['"quoted"', [12]],
      ['$1', []],
      ['s+s', [11]],
      ['a=b;c&d,e', [11]],
      ['😀', [12]],
      ['a,b', []],
    ])
  })

  // rule: 4.2 search
  describe('folds case, beyond ASCII too:', () => {
    table([
      ['aNA rUIZ', [1, 106]],
      ['READING observation', [101]],
      ['élodie', [8]],
      ['Élodie', [8]],
      ['MÜßIG', [8]],
      ['élo müß', [8]],
      ['ÖZGÜR', [9]],
      ['σίσυφ', [9]],
      ['ΣΊΣΥΦ', [9]],
      ['ΣΊΣΥΦΟΣ', [9]],
      ['σίσυφος', [9]],
      // A sigma is written otherwise at the end of a word, but the end of the value is not one.
      ['ΣΊΣ', [9]],
      ['σίσ', [9]],
      ['özg ΣΊΣ', [9]],
      ['НАТАЛІЯ', [10]],
      ['талі 山', [10]],
      ['möbel', [102]],
      ['EMOJI😀', [12]],
      ['elodie', []],
    ])
  })

  describe('takes a line break inside a name for a space, and crosses none between two fields:', () => {
    table([
      ['Anna Maria Lou', [14]],
      ['Anna Lou', []],
      ['Maria Vries', [14]],
      ['Vries Bo Ti', [14]],
      ['De Ti', []],
      ['Vries Anna', []],
      ['Lou De', [14]],
      ['Maria Lou De', []],
      ['Ti Basic', []],
      ['Upper Half Way', [106]],
      ['r h', [3, 106]],
      ['Ruiz Upper', []],
      ['Half Upper', []],
    ])
  })

  describe('takes one and two characters, ASCII and not:', () => {
    table([
      ['x', [6, 103]],
      ['Q', [12]],
      ['w', [101, 102, 106]],
      ['jo', [3, 4, 101, 102]],
      ['zg', [9]],
      ['x p', [6, 103]],
      ['é', [8]],
      ['ß', [8]],
      ['Ö', [9, 102]],
      ['ÖB', [102]],
      ['ς', [9]],
      ['Σ', [9]],
      ['я', [10]],
      ['山', [10]],
      ['山田', [10]],
      ['я 田', [10]],
      ['ñ', []],
      ['qx', []],
    ])
  })

  test('of any length is answered', async () => {
    expect(await search('x'.repeat(10_000))).toEqual([])
    expect(await search('x '.repeat(5000))).toEqual([])
    expect(await search('%'.repeat(3000))).toEqual([])
  })
})
