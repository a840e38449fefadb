import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { parse } from 'csv-parse/sync'
import { parquetMetadata } from 'hyparquet'
import { cleanUp } from '../support/executable.ts'
import {
  ANYBODY,
  type Front,
  json,
  linesOf,
  outputIn,
  pageOf,
  pullFrom,
  readParquet,
  record,
  startStub,
} from '../support/pull.ts'

setDefaultTimeout(60_000)
afterAll(cleanUp)

describe('what a service may send that ours does not', () => {
  const pulled = async (stub: Front, format: 'ndjson' | 'csv' | 'parquet' = 'ndjson') => {
    const out = outputIn(`out.${format}`)
    await pullFrom(stub.baseUrl, ANYBODY, out, { format }).finally(stub.stop)
    return out
  }

  test('ids that JavaScript has no exact numbers for stay exact in every format', async () => {
    const ids = ['9007199254740993', '9223372036854775806', '9223372036854775807']
    const records = ids.map(id => record(id, 'a "b",\nc:1234567890123456'))
    expect(linesOf(await pulled(startStub(records)))).toEqual(records)
    const csv = parse(readFileSync(await pulled(startStub(records), 'csv')), { columns: true }) as object[]
    expect(csv).toMatchObject(
      ids.map(id => ({ id, part_assessment_id: id, name: 'a "b",\nc:1234567890123456' })),
    )
    expect(await readParquet(await pulled(startStub(records), 'parquet'))).toMatchObject(
      ids.map(id => ({ id: BigInt(id), results: [{ assessment_id: BigInt(id) }] })),
    )
  })

  test('fields that are missing, or that nobody knows', async () => {
    const records = ['{"more":[{"id":5}],"id":1,"results":[{}]}', '{"id":2,"name":null,"certified_on":null}']
    expect(linesOf(await pulled(startStub(records)))).toEqual(records)
    expect(parse(readFileSync(await pulled(startStub(records), 'csv')), { columns: true })).toMatchObject([
      { id: '1', name: '' },
    ])
    expect(await readParquet(await pulled(startStub(records), 'parquet'))).toMatchObject([
      { id: 1n, results: [{ assessment_id: null }] },
      { id: 2n, results: [] },
    ])
  })

  test('pages of another size or place than asked for end it', async () => {
    const stub = startStub([record(1)])
    stub.hook = () => json('{"data":[],"meta":{"count":0,"offset":0,"page":50}}')
    await expect(pulled(stub)).rejects.toThrow('another page than asked: offset 0 for 0, size 50 for 100')
  })

  test('an order without a tie-breaker, which shows an id twice, is never taken for a whole list', async () => {
    const records = Array.from({ length: 300 }, (_, index) => record(index))
    const stub = startStub(records)
    // The record at each page's start is right, the ones behind are any.
    stub.hook = (_, request) => {
      const offset = Number(new URL(request.url).searchParams.get('offset'))
      if (offset !== 99) return
      const some = [...records.slice(99, 150), records[7] as string, ...records.slice(151, 199)]
      return json(pageOf(some, 300, offset))
    }
    await expect(pulled(stub)).rejects.toThrow(
      /^the data changed 5 times .*299 of 300 assessments came, 1 twice/,
    )
  })
})

test('Parquet is written in groups of records, not all at once', async () => {
  const records = Array.from({ length: 10_500 }, (_, index) => record(index))
  const stub = startStub(records)
  const out = outputIn('out.parquet')
  await pullFrom(stub.baseUrl, ANYBODY, out, { format: 'parquet' }).finally(stub.stop)
  const { buffer, byteOffset, byteLength } = readFileSync(out)
  const { row_groups, created_by } = parquetMetadata(
    buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer,
  )
  expect(row_groups.map(group => group.num_rows)).toEqual([10_000n, 500n])
  expect(created_by).toBe('axport')
})
