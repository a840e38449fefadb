import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { parsePage, UnexpectedJson } from '../../src/pull/record.ts'
import { holds } from '../support/property.ts'
import { pageOf, record } from '../support/pull.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

/** The lines and the ids of a page, and what it says of the list. */
function read(text: string) {
  const { records, ...meta } = parsePage(bytes(text))
  return { lines: records.map(({ line }) => line), ids: records.map(({ id }) => id), meta }
}

/** The required fields of the contract, equal in all of these records. */
const CONTRACT = JSON.parse(record(1)) as { results: object[] }
const {
  results: [PART],
  ...OWN
} = CONTRACT

/** A random record: its id is anywhere among other fields, and nested fields may also have the name id. */
const anyRecord = fc.tuple(
  fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 }),
  fc.nat(),
  fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 }),
)
/** A text that looks like the boundary of two records. */
const anyText = fc.oneof(
  fc.string(),
  fc.constantFrom('}]},{"id":1,', '],"meta":{"count":1}}', '\\', '"', 'Zoë 日本'),
)
/** A record in the format of axport, with texts and parts that look like the boundary of two records. */
const ourRecord = fc.tuple(
  fc.bigInt(0n, 2n ** 63n - 1n),
  fc.dictionary(anyText, anyText, { maxKeys: 3 }),
  fc.array(fc.oneof({ weight: 9, arbitrary: anyText }, { weight: 1, arbitrary: fc.constant([{}]) }), {
    minLength: 1,
    maxLength: 3,
  }),
)
const anyPage = fc.record({
  records: fc.array(anyRecord, { maxLength: 8 }),
  count: fc.nat(),
  offset: fc.nat(),
})

type Page = typeof anyPage extends fc.Arbitrary<infer T> ? T : never
const RECORD: Page['records'][number] = [{}, 0, {}]

const recordText = ([before, id, after]: [object, number, object]) =>
  JSON.stringify({ ...before, ...CONTRACT, ...after, ...CONTRACT, id, z: { id: 1 } })

describe('a page', () => {
  test('is parsed into exactly its records, with any further fields', async () => {
    const isCut = ({ records, count, offset }: Page) => {
      const texts = records.map(recordText)
      const page = read(`{"data":[${texts.join()}],"meta":{"count":${count},"offset":${offset},"page":100}}`)
      expect(page.lines).toEqual(texts)
      expect(page.ids).toEqual(texts.map(text => (JSON.parse(text) as { id: number }).id))
      expect(page.meta).toEqual({ count, offset, page: 100 })
    }
    await holds(fc.property(anyPage, isCut), { runs: 100, thorough: 2000 })
    // The page has more records than meta.count allows, and no record ends with results.
    isCut({ records: [RECORD, RECORD], count: 18, offset: 17 })
  })

  test('is parsed into exactly its records, even if a text looks like the boundary of two', async () => {
    await holds(
      fc.property(fc.array(ourRecord, { minLength: 1, maxLength: 20 }), fc.nat(9), (records, more) => {
        const texts = records.map(([id, fields, results]) => {
          const parts = results.map(x => ({ id: 1, ...PART, x }))
          return JSON.stringify({ ...OWN, fields, results: parts }).replace('"id":1', `"id":${id}`)
        })
        const count = texts.length === 20 ? 20 + more : texts.length
        const page = read(`{"data":[${texts.join()}],"meta":{"count":${count},"offset":0,"page":20}}`)
        expect(page.lines).toEqual(texts)
        expect(page.ids.map(BigInt)).toEqual(records.map(([id]) => id))
        expect(page.meta).toEqual({ count, offset: 0, page: 20 })
      }),
      { runs: 200, thorough: 2000 },
    )
  })

  test('is parsed equally with white space between tokens and with meta before data', async () => {
    await holds(
      fc.property(anyPage, ({ records, count, offset }) => {
        const value = {
          meta: { count, offset, page: 100 },
          more: [{ data: 1 }],
          data: records.map(record => JSON.parse(recordText(record))),
        }
        const page = read(JSON.stringify(value, null, '\t'))
        expect(page.lines).toEqual(value.data.map(record => JSON.stringify(record)))
        expect(page.meta.count).toBe(count)
      }),
      { runs: 100, thorough: 2000 },
    )
  })

  test('is refused if it is truncated at any byte', () => {
    const whole = pageOf([record(1, 'a"}]\\')], 1, 0)
    expect(read(whole).ids).toEqual([1])
    for (let length = 0; length < whole.length; length++)
      expect(() => read(whole.slice(0, length))).toThrow(UnexpectedJson)
    expect(() => read(`${whole}x`)).toThrow(UnexpectedJson)
  })

  test.each([
    ['nothing', ''],
    ['HTML', '<html></html>'],
    ['another object', '{"errors":[]}'],
    ['data without meta', '{"data":[]}'],
    ['a negative count', '{"data":[],"meta":{"count":-1,"offset":0,"page":100}}'],
    ['data that is an object', '{"data":{},"meta":{"count":1,"offset":0,"page":100}}'],
    ['records that are numbers', '{"data":[1],"meta":{"count":1,"offset":0,"page":100}}'],
    ['a line break in text', pageOf([record(1).replace('"F"', '"a\nb"')], 1, 0)],
  ])('is refused if it is %s', (_, text) => {
    expect(() => read(text)).toThrow(UnexpectedJson)
  })
})
