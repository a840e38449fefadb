import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { TOKEN_EXAMPLE } from '../../src/app/docs/examples.ts'
import { AssessmentRecord, LIST_PARAMETERS, ResultPart } from '../../src/contract.ts'
import { setTimeZone } from '../../src/database/time-zone.ts'
import { pageOf, ROOT } from '../support/document.ts'
import { get, LIST, TOKEN } from '../support/http.ts'
import { authorize, load, startService, type TestService } from '../support/service.ts'
import { NO_ID } from '../support/wordings.ts'

const page = readFileSync(join(ROOT, 'docs/integrate/reference.md'), 'utf8')

/** The text under a heading of the page. */
const under = (heading: string) => page.split(`\n## ${heading}\n`)[1]?.split(/^## /m)[0] ?? ''

let service: TestService
beforeAll(async () => {
  service = await startService()
  const [, zone = ''] = /in the time zone `([^`]+)`/.exec(page) ?? []
  await setTimeZone(service.sql, zone)
  const lines = [...pageOf('data.md').matchAll(/^\{"type":.*$/gm)].map(
    ([line]) => JSON.parse(line) as { type: string },
  )
  await load(
    service.sql,
    lines.filter(({ type }) => type !== 'end'),
  )
})
afterAll(() => service?.close())

describe('docs/integrate/reference.md', () => {
  test('has the answers to its requests, in which the records are those of the lines in docs/operate/data.md', async () => {
    const { token } = await authorize(service, [12], [7])
    const answers = [...page.matchAll(/^`GET (\S+)`[^\n]*\n\n```json\n([\s\S]*?)^```/gm)]
    expect(answers.map(([, path]) => path)).toEqual([`${LIST}?page=1`, `${LIST}/9100`])
    for (const [, path = '', answer = ''] of answers)
      expect((await get(service.baseUrl, token, path)).text).toBe(JSON.stringify(JSON.parse(answer)))
  })

  test('has the answer with a token that /openapi.json has', () => {
    const [, answer = ''] = page.split(`\`POST ${TOKEN}\``)[1]?.split(/```(?:json\n)?/) ?? []
    expect(JSON.parse(answer)).toEqual(TOKEN_EXAMPLE)
  })

  test('has a row for every field, in order, and says of seid alone that it can be null', () => {
    const rows = [...under('Fields').matchAll(/^\| `(\w+)` \| ([^|]+) \| /gm)]
    const fields = [AssessmentRecord, ResultPart].flatMap(({ properties }) => Object.keys(properties))
    expect(rows.map(([, name]) => name)).toEqual(fields)
    expect(rows.filter(([row]) => row.includes('null')).map(([, name]) => name)).toEqual(['seid'])
  })

  test('has a row for every parameter, in order', () => {
    const rows = [...(under('Parameters') + under('Filters')).matchAll(/^\| `([^`]+)` \| /gm)]
    expect(rows.map(([, name = '']) => name)).toEqual(Object.keys(LIST_PARAMETERS))
  })

  test('has a row for every error that /openapi.json has', async () => {
    const { paths } = (await (await fetch(`${service.baseUrl}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { responses: object }>>
    }
    const [ofApi = '', ofToken = ''] = under('Errors').split(`| status | of \`${TOKEN}\` |`)
    for (const [path, operations] of Object.entries(paths))
      for (const { responses } of Object.values(operations)) {
        const rows = (path === TOKEN ? ofToken : ofApi).match(/^\| \d[^|]*\|/gm) ?? []
        const statuses = Object.keys(responses).filter(status => status !== '200')
        expect(statuses.filter(status => !rows.join().includes(status))).toEqual([])
      }
  })

  test('names the ids that imports take', () => {
    expect(page).toContain(NO_ID.replace('must be a whole number', 'whole numbers'))
  })
})
