import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { dirname } from 'node:path'
import { codeUnder, PULL } from '../support/document.ts'
import { cleanUp } from '../support/executable.ts'
import { ANY_CREDENTIALS, outputIn, pullFrom, record, startStub } from '../support/pull.ts'
import { installed, runBun } from './support/npm.ts'

setDefaultTimeout(120_000)
afterAll(cleanUp)

test('DuckDB makes Parquet of a pulled file by the documented statement, with the same values', async () => {
  const records = [1n, 2n ** 53n + 1n, 2n ** 63n - 1n].map(id => record(id))
  const stub = startStub(records)
  const out = outputIn('educators.ndjson')
  await pullFrom(stub.baseUrl, ANY_CREDENTIALS, out).finally(stub.stop)
  const [command = ''] = codeUnder('Parquet', '', PULL)
  const [, statement = ''] = /^duckdb -c "(.*)"$/m.exec(command) ?? []
  expect(statement).toContain('educators.parquet')
  const inFolder = (text: string) => text.replaceAll("'educators.", `'${dirname(out)}/educators.`)
  const query = "select * from 'educators.parquet' order by id"
  const programs = await installed('duckdb')
  const answers = JSON.parse(await runBun(programs, 'query.ts', ...[statement, query].map(inFolder)))
  const idsAsText = (line: string) => line.replaceAll(/("\w*id":)(\d+)/g, '$1"$2"')
  expect(answers[1]).toEqual(records.map(line => JSON.parse(idsAsText(line))))
})
