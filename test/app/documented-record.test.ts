import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { AssessmentRecord, ResultPart } from '../../src/contract.ts'
import { setTimeZone } from '../../src/database/time-zone.ts'
import { get, LIST } from '../support/http.ts'
import { authorize, load, startService, type TestService } from '../support/service.ts'

const page = readFileSync(join(import.meta.dir, '../../docs/integrate/record.md'), 'utf8')

let service: TestService
beforeAll(async () => {
  service = await startService()
  const [, zone = ''] = /in the time zone `([^`]+)`/.exec(page) ?? []
  await setTimeZone(service.sql, zone)
  await load(
    service.sql,
    [...page.matchAll(/^\{"type":.*$/gm)].map(([line]) => JSON.parse(line) as object),
  )
})
afterAll(() => service?.close())

describe('docs/integrate/record.md', () => {
  test('has the records that its import lines make, with every field in order', async () => {
    const { token } = await authorize(service, [12], [7, 8])
    const records = [...page.matchAll(/^```json\n([\s\S]*?)^```/gm)].map(
      ([, text = '']) => JSON.parse(text) as { id: number },
    )
    expect(records.map(({ id }) => id)).toEqual([9001, 9100, 9200])
    for (const record of records) {
      const { text } = await get(service.baseUrl, token, `${LIST}/${record.id}`)
      expect(text).toBe(JSON.stringify(record))
    }
  })

  test('has a row for every field, in order, and says of seid alone that it can be null', () => {
    const rows = [...page.matchAll(/^\| `(\w+)` \| ([^|]+) \| ([^|]+) \|/gm)]
    const fields = [AssessmentRecord, ResultPart].flatMap(({ properties }) => Object.keys(properties))
    expect(rows.map(([, name]) => name)).toEqual(fields)
    expect(rows.filter(([, , , isNull]) => !isNull?.startsWith('never')).map(([, name]) => name)).toEqual([
      'seid',
    ])
  })
})
