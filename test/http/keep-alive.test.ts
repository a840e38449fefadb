import { afterAll, beforeAll, expect, test } from 'bun:test'
import { assessment, range, world } from '../support/fixtures.ts'
import { LIST } from '../support/http.ts'
import { dial, type RawAnswer } from '../support/raw.ts'
import { authorize, load, startService, type TestService } from '../support/service.ts'

let service: TestService
let token: string

beforeAll(async () => {
  service = await startService('postgres')
  await load(service.sql, [...world(), ...range(60, at => assessment(9000 + at))])
  token = (await authorize(service, [10], [1])).token
})
afterAll(() => service?.close())

/** Sends requests over one connection, each after the answer to the one before; a head is request line and headers. */
async function overOneConnection(heads: string[][]): Promise<RawAnswer[]> {
  const connection = dial(service.baseUrl)
  const answers: RawAnswer[] = []
  for (const head of heads) {
    connection.write([...head, 'Host: x', '', ''].join('\r\n'))
    const answer = await connection.next(head[0]?.split(' ')[0])
    if (!answer) throw new Error(`no answer to ${head[0]}`)
    answers.push(answer)
  }
  expect(connection.rest.length).toBe(0)
  connection.destroy()
  return answers
}

test('A connection serves hundreds of requests, and stays in step through compressed answers, HEAD and errors', async () => {
  const gzip = 'Accept-Encoding: gzip'
  const bearer = `Authorization: Bearer ${token}`
  const cycle = [
    [`GET ${LIST}?page=20 HTTP/1.1`, bearer, gzip],
    [`HEAD ${LIST} HTTP/1.1`, bearer, gzip],
    [`GET ${LIST} HTTP/1.1`],
    [`GET ${LIST}/1 HTTP/1.1`, bearer],
    ['GET /nothing HTTP/1.1'],
    [`POST ${LIST} HTTP/1.1`, 'Content-Length: 0'],
    [`GET ${LIST}?page=20&offset=40 HTTP/1.1`, bearer],
  ]
  const answers = await overOneConnection(Array.from({ length: 30 }, () => cycle).flat())
  expect(answers.map(({ status }) => status)).toEqual(
    Array.from({ length: 30 }, () => [200, 200, 401, 404, 404, 405, 200]).flat(),
  )
  for (const [index, { headers, body }] of answers.entries()) {
    expect(headers.get('connection')).not.toBe('close')
    if (index % 7 === 0)
      expect(JSON.parse(Buffer.from(Bun.gunzipSync(body)).toString()).data).toHaveLength(20)
    if (index % 7 === 6) expect(JSON.parse(body.toString()).meta.offset).toBe(40)
  }
})
