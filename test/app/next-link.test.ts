import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { MAX_LINK, nextLink } from '../../src/app/next-link.ts'
import { pairsIn } from '../../src/app/query-string.ts'
import { listQuery } from '../support/list-query.ts'
import { holds } from '../support/property.ts'

/** The query string of the next page, from the Link of an answer; undefined without a Link. */
function followed(queryString: string, count: number): string | undefined {
  const { link } = nextLink(pairsIn(queryString), listQuery(queryString), count)
  if (link === undefined) return undefined
  const [, reference] = /^<([\x21\x23-\x3b=\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]+)>; rel="next"$/.exec(link) ?? []
  expect({ link, reference }).toEqual({ link, reference: expect.stringMatching(/^assessments\?/) })
  return new URL(reference as string, 'https://api.example/behind/api/v1/ax/assessments').search.slice(1)
}

/** Parts of query strings, ordinary and hostile. Most of them are accepted by the parser. */
const PAIRS = `
  page=3 page= page[]=7 sort=user_name order=desc = ? filter[seids][]= filter[search]=a"<b>|^{c}\`\\
  filter%5Bseids%5D%5B%5D=%C3%A9 filter[seids][]=é😀 filter[seids][]=a=b]=c filter[seids][5]=x
  filter[search]=a+b%2Bc%26 x=%3E%3Cnext offset=4 offset= offset offset[]=2 offset%5B7%5D=1 offset[500]=1
  %6Fffset=6 [offset]=3 [offset][]=3 [offset][500]=2 offset=5]=7 offset[x offset=%20 offsets=9`
const pair = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('', ...PAIRS.trim().split(/\s+/)) },
  fc.tuple(fc.string(), fc.string({ unit: 'binary' })).map(([name, value]) => {
    const encode = (text: string) => encodeURIComponent(text.replaceAll(/\p{Cc}/gu, '').toWellFormed())
    return `${encode(name)}=${encode(value)}`
  }),
)
const pairs = fc.array(pair, { maxLength: 6 })

/** The parsed query, or undefined if the answer is 400. */
function read(queryString: string) {
  try {
    return listQuery(queryString)
  } catch {
    return undefined
  }
}

describe('the Link of a list', () => {
  test('is present before the last page, and absent on it and after it', () => {
    for (const [queryString, count, expected] of [
      ['', 0, undefined],
      ['', 50, undefined],
      ['', 51, 'offset=50'],
      ['page=10&offset=41', 51, undefined],
      ['page=10&offset=40', 51, 'page=10&offset=50'],
      ['page=1000', 101, 'page=1000&offset=100'],
      ['offset=9007199254740991', 51, undefined],
    ] as const)
      expect([queryString, count, followed(queryString, count)]).toEqual([queryString, count, expected])
  })

  test('keeps the other parameters unchanged and in their order', () => {
    expect(followed('sort=user_name&offset=5&filter%5Bseids%5D%5B%5D=a+b&x&page=10&x', 99)).toBe(
      'sort=user_name&filter%5Bseids%5D%5B%5D=a+b&x&page=10&x&offset=15',
    )
    expect(followed('time_offset=3&offset=5&page=10', 99)).toBe('time_offset=3&page=10&offset=15')
  })

  test('percent-encodes characters that a URI cannot contain, also brackets', () => {
    expect(nextLink(pairsIn('filter[search]=a"<é>'), listQuery('filter[search]=a"<é>'), 51).link).toBe(
      '<assessments?filter%5Bsearch%5D=a%22%3C%C3%A9%3E&offset=50>; rel="next"',
    )
  })

  test('has the same query with the next offset for any request, and stays as long from page to page', async () => {
    const property = fc.property(pairs, parts => {
      const queryString = parts.join('&')
      const query = read(queryString)
      fc.pre(query !== undefined)
      let next = followed(queryString, 1_000_000) as string
      const { length } = next
      expect(listQuery(next)).toEqual({ ...query, offset: query.offset + query.page })
      for (let page = 0; page < 5; page++) next = followed(next, 1_000_000) as string
      expect(next.length).toBeLessThanOrEqual(length + 1)
    })
    await holds(property, { runs: 200, thorough: 2000 })
  })

  test('is omitted if it would be longer than proxies accept', () => {
    const linkOf = (size: number) => nextLink(pairsIn('x'.repeat(size)), listQuery(''), 51).link
    const longest = MAX_LINK - '<assessments?&offset=50>; rel="next"'.length
    expect(linkOf(longest)).toHaveLength(MAX_LINK)
    expect(linkOf(longest + 1)).toBeUndefined()
  })
})
