import { describe, expect, test } from 'bun:test'
import { pairsIn } from '../../src/assessments/query-string.ts'
import { resembled } from '../../src/assessments/resemblance.ts'
import { LIST_PARAMETERS } from '../../src/contract.ts'

/** The parameters that names in a query string resemble. */
const resembledIn = (queryString: string) => resembled(pairsIn(queryString))

describe('a parameter without effect is reported with the known name that it resembles:', () => {
  test.each([
    ['filters[user_ids][]=1', 'filter[user_ids][]'],
    ['filter[product_id]=1', 'filter[product_ids][]'],
    ['filter%5Borganisation_ids%5D%5B%5D=1', 'filter[organization_ids][]'],
    ['filter[seid]=1', 'filter[seids][]'],
    ['filter[userIds]=1', 'filter[user_ids][]'],
    ['user_ids[]=1', 'filter[user_ids][]'],
    ['start_date=2026-01-01', 'filter[start_date]'],
    ['filter.search=x', 'filter[search]'],
    ['filter[search=x', 'filter[search]'],
    ['Filter[search]=x', 'filter[search]'],
    ['ofset=100', 'offset'],
    ['pages=100', 'page'],
    ['sorts=name', 'sort'],
  ])('%s', (query, name) => {
    expect(resembledIn(query)).toEqual([name])
  })

  test('once for repeated names, and once for each of several', () => {
    expect(resembledIn('filters[seids][]=A&filters[seids][]=B&filter[seid]=C&ofset=1')).toEqual([
      'filter[seids][]',
      'offset',
    ])
  })

  test('unless it has an effect or resembles no known name', () => {
    const ours = Object.keys(LIST_PARAMETERS).flatMap(name => [
      `${name}=`,
      `${name.replace('[]', '')}=1`,
      `${name.replace('[]', '[0]')}=1`,
    ])
    expect(resembledIn(ours.join('&'))).toEqual([])
    expect(resembledIn(ours.join('&').replaceAll('[', '%5B').replaceAll(']', '%5d'))).toEqual([])
    expect(resembledIn('limit=1&per_page=1&fields=id&q=x&access_token=x&filter[name]=x&filter=&_=1')).toEqual(
      [],
    )
    // Two letters differ from userids, which is too many for a name this short.
    expect(resembledIn('xuseridx=1')).toEqual([])
    expect(resembledIn('')).toEqual([])
  })

  test('even among hundreds of names, and beside a very long one', () => {
    const names = Array.from({ length: 700 }, (_, at) => `filterxuseryids${at}=`)
    expect(resembledIn(`${'x'.repeat(1000)}=&${names.join('&')}`)).toEqual(['filter[user_ids][]'])
  })
})
