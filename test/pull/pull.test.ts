import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { parse } from 'csv-parse/sync'
import type { AssessmentRecord } from '../support/http.ts'
import { documents, linesOf, outputIn, pullFrom, startFront, usePullSource } from '../support/pull.ts'

setDefaultTimeout(60_000)

const source = usePullSource()

describe('a pull', () => {
  test('writes every record once, byte for byte as the service has it, in a total order', async () => {
    const out = outputIn()
    const { result, notes, pauses, progress } = await pullFrom(source.front.baseUrl, source.client, out)
    expect(linesOf(out)).toEqual(source.expected)
    expect({ result, notes, pauses }).toEqual({
      result: { records: 1000, restarts: 0 },
      notes: [],
      pauses: [],
    })
    expect(progress.at(-1)).toEqual([1000, 1000])
  })

  test('requests each page from the last record of the previous page on, with one token', async () => {
    await pullFrom(source.front.baseUrl, source.client, outputIn())
    expect(source.front.lists.map(query => new URLSearchParams(query).get('offset'))).toEqual(
      Array.from({ length: 11 }, (_, index) => String(index * 99)),
    )
    expect(new Set(source.front.lists.map(query => query.replace(/&offset=\d+/, '')))).toEqual(
      new Set(['page=100&sort=certified_on&order=ASC']),
    )
    expect(source.front.tokens).toBe(1)
  })

  test('writes CSV with a row for each part', async () => {
    const out = outputIn('out.csv')
    await pullFrom(source.front.baseUrl, source.client, out, { format: 'csv' })
    const rows = source.expected.flatMap(text => {
      const { results, ...own } = JSON.parse(text) as AssessmentRecord
      return results.map(part => [...Object.values(own), ...Object.values(part)].map(cell => `${cell ?? ''}`))
    })
    const [header, ...found] = parse(readFileSync(out)) as string[][]
    expect(found).toEqual(rows)
    expect(found.length).toBeGreaterThan(1200)
    expect(header?.join()).toBe(
      'id,seid,name,first_name,last_name,email,organization_id,organization_name,assessment_name,certified_on,' +
        'part_assessment_id,part_assessment_name,part_certified_on,part_proctor_id,part_proctor_name',
    )
  })

  test('sorts by the given sort and order', async () => {
    const out = outputIn()
    await pullFrom(source.front.baseUrl, source.client, out, { query: { sort: 'user_name', order: 'DESC' } })
    expect(linesOf(out)).toEqual(await documents(source.service, 'sort=user_name&order=DESC'))
  })

  test('filters by one value and by several', async () => {
    const out = outputIn()
    const [one, two] = source.expected.map(text => JSON.parse(text) as AssessmentRecord)
    const organizations = [String(one?.organization_id), String(two?.organization_id)]
    await pullFrom(source.front.baseUrl, source.client, out, {
      query: { filter: { organization_ids: organizations, start_date: ['2023-01-01'] } },
    })
    const lists = organizations.map(id => `filter[organization_ids][]=${id}`).join('&')
    expect(linesOf(out)).toEqual(await documents(source.service, `filter[start_date]=2023-01-01&${lists}`))
    expect(linesOf(out)).not.toBeEmpty()
  })

  test.each(['ndjson', 'csv'] as const)('of no records writes an empty %s', async format => {
    const out = outputIn(`out.${format}`)
    const query = { filter: { seids: ['nobody has this one'] } }
    expect((await pullFrom(source.front.baseUrl, source.client, out, { format, query })).result.records).toBe(
      0,
    )
    expect(readFileSync(out, 'utf8').split('\n').length).toBe(format === 'csv' ? 2 : 1)
  })

  test.each(['ndjson', 'csv'] as const)(
    'of no records says that it replaces a %s with records',
    async format => {
      const out = outputIn(`out.${format}`)
      await pullFrom(source.front.baseUrl, source.client, out, { format })
      const { size } = statSync(out)
      const nobody = { query: { filter: { seids: ['nobody has this one'] } } }
      const { notes } = await pullFrom(source.front.baseUrl, source.client, out, { format, ...nobody })
      expect(notes).toEqual([
        `no assessment matches: ${out}, which had ${size} bytes, is replaced by a file without records; --fail-if-empty keeps it`,
      ])
      expect((await pullFrom(source.front.baseUrl, source.client, out, { format, ...nobody })).notes).toEqual(
        [],
      )
    },
  )

  test('of no records fails with failIfEmpty, and keeps the earlier file', async () => {
    const out = outputIn()
    writeFileSync(out, 'earlier')
    const nobody = { query: { filter: { organization_ids: ['99999'] } }, failIfEmpty: true }
    await expect(pullFrom(source.front.baseUrl, source.client, out, nobody)).rejects.toThrow(
      '(--fail-if-empty)',
    )
    expect(readFileSync(out, 'utf8')).toBe('earlier')
    expect(readdirSync(dirname(out))).toEqual(['out.ndjson'])
    expect(
      (await pullFrom(source.front.baseUrl, source.client, out, { failIfEmpty: true })).result.records,
    ).toBe(1000)
  })

  test('continues with a new token if its token is revoked', async () => {
    source.front.hook = async n => {
      if (n === 4) await source.service.sql`delete from access_tokens`
    }
    const out = outputIn()
    await pullFrom(source.front.baseUrl, source.client, out)
    expect(linesOf(out)).toEqual(source.expected)
    expect(source.front.tokens).toBe(2)
  })

  test('fails if the service refuses every token that it issues', async () => {
    source.front.hook = () => new Response('{"error":"invalid_token"}', { status: 401 })
    await expect(pullFrom(source.front.baseUrl, source.client, outputIn())).rejects.toThrow(
      /^the service refuses the tokens that it issues/,
    )
  })

  test('retries after a temporary status', async () => {
    const pulls = [408, 429, 500, 502, 503, 504].map(async status => {
      const passing = startFront(source.service)
      passing.hook = n => n === 3 && new Response('<html>', { status })
      const out = outputIn()
      await pullFrom(passing.baseUrl, source.client, out).finally(passing.stop)
      expect(linesOf(out)).toEqual(source.expected)
      expect([status, passing.lists.length]).toEqual([status, 12])
    })
    await Promise.all(pulls)
  })
})
