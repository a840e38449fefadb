import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { parse } from 'csv-parse/sync'
import { cleanUp } from '../support/executable.ts'
import {
  ANY_CREDENTIALS,
  type Front,
  json,
  linesOf,
  outputIn,
  pageOf,
  pullFrom,
  record,
  startStub,
} from '../support/pull.ts'

setDefaultTimeout(60_000)
afterAll(cleanUp)

describe('answers that axport does not send:', () => {
  const pulled = async (stub: Front, format: 'ndjson' | 'csv' = 'ndjson') => {
    const out = outputIn(`out.${format}`)
    await pullFrom(stub.baseUrl, ANY_CREDENTIALS, out, { format }).finally(() => stub.stop())
    return out
  }

  test('ids above 2^53 stay exact in every format', async () => {
    const ids = ['9007199254740993', '9223372036854775806', '9223372036854775807']
    const records = ids.map(id => record(id, 'a "b",\nc:1234567890123456'))
    expect(linesOf(await pulled(startStub(records)))).toEqual(records)
    const csv = parse(readFileSync(await pulled(startStub(records), 'csv')), { columns: true }) as object[]
    expect(csv).toMatchObject(
      ids.map(id => ({ id, part_assessment_id: id, name: 'a "b",\nc:1234567890123456' })),
    )
  })

  test('unknown fields and a record without parts are accepted; the record is one row of CSV', async () => {
    const records = [
      record(1).replace('{', '{"more":[{"id":5}],'),
      record(2).replace(/"results":.*/, '"results":[]}'),
    ]
    expect(linesOf(await pulled(startStub(records)))).toEqual(records)
    const rows = parse(readFileSync(await pulled(startStub(records), 'csv')), { columns: true })
    const part = { part_assessment_id: '1', part_certified_on: '2026-03-01', part_proctor_id: '7' }
    const noPart = { part_assessment_id: '', part_certified_on: '', part_proctor_id: '' }
    expect(rows).toMatchObject([
      { id: '1', name: 'Name 1', ...part },
      { id: '2', name: 'Name 2', ...noPart },
    ])
  })

  test.each([
    ['a truncated text', (text: string) => text.replace('"L"', '"L'), 'it is not JSON'],
    ['a value that is not JSON', (text: string) => text.replace('"L"', 'nil'), 'it is not JSON'],
    ['a missing comma', (text: string) => text.replace('"L",', '"L"'), 'it is not JSON'],
    ...['"120"', '1.5', '-1', '9223372036854775808', 'null'].map(
      (id): [string, (text: string) => string, string] => [
        `the id ${id}`,
        text => text.replace('"id":120', `"id":${id}`),
        'id of a record is no id',
      ],
    ),
    [
      'no email',
      (text: string) => text.replace('"email":"f@example.org",', ''),
      'email of a record is no text',
    ],
    ['null for a name', (text: string) => text.replace('"F"', 'null'), 'first_name of a record is no text'],
    [
      'a day that does not exist',
      (text: string) => text.replace(/2026-03-01(?=","results)/, '2026-02-30'),
      'certified_on of a record is no day',
    ],
    [
      'a part without proctor',
      (text: string) => text.replace('"proctor_id":7,', ''),
      'proctor_id of a part is no id',
    ],
    ['no results', (text: string) => text.replace(/,"results":.*/, '}'), 'results of a record is no array'],
  ])('%s ends the pull with the offset of the page, and no file is left', async (_, damage, reason) => {
    const records = Array.from({ length: 150 }, (_, index) => record(index))
    records[120] = damage(record(120))
    const stub = startStub(records)
    const out = outputIn()
    await expect(pullFrom(stub.baseUrl, ANY_CREDENTIALS, out).finally(stub.stop)).rejects.toThrow(
      `the service sent no page of assessments at offset 99 (${reason})`,
    )
    expect(readdirSync(dirname(out))).toEqual([])
  })

  test('bytes that are not UTF-8 end the pull', async () => {
    const stub = startStub([])
    const body = Buffer.from(pageOf([record(1, 'Zo\u00eb')], 1, 0), 'latin1')
    stub.hook = () => new Response(body, { headers: { 'content-type': 'application/json' } })
    await expect(pulled(stub)).rejects.toThrow('at offset 0 (it is not UTF-8)')
  })

  test('pages of another size or offset than requested end the pull', async () => {
    const stub = startStub([record(1)])
    stub.hook = () => json('{"data":[],"meta":{"count":0,"offset":0,"page":50}}')
    await expect(pulled(stub)).rejects.toThrow(
      'another page than the requested one: offset 0 for 0, size 50 for 100',
    )
  })

  test('an order without a tie-breaker, which repeats an id, is reported as an incomplete list', async () => {
    const records = Array.from({ length: 300 }, (_, index) => record(index))
    const stub = startStub(records)
    // Only the first record of each page is right.
    stub.hook = (_, request) => {
      const offset = Number(new URL(request.url).searchParams.get('offset'))
      if (offset !== 99) return
      const some = [...records.slice(99, 150), records[7] as string, ...records.slice(151, 199)]
      return json(pageOf(some, 300, offset))
    }
    await expect(pulled(stub)).rejects.toThrow(
      /^the data changed \(299 of 300 assessments came, 1 twice\) in each of 5 tries/,
    )
  })
})
