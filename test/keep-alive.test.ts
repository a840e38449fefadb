import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { assessment, world } from './contract/support/lines.ts'
import { authorize, load, startService, type TestService } from './support/service.ts'

const LIST = '/api/v1/ax/assessments'

let service: TestService
let token: string

beforeAll(async () => {
  service = await startService('postgres')
  await load(service.sql, [...world(), ...Array.from({ length: 60 }, (_, index) => assessment(9000 + index))])
  token = (await authorize(service, [10], [1])).token
})
afterAll(() => service?.close())

/** Sends requests over one connection, each after the answer to the one before; `head` has request line and headers. */
async function overOneConnection(requests: { head: string[]; hasBody?: boolean }[]) {
  const { hostname, port, host } = new URL(service.baseUrl)
  const socket = connect(Number(port), hostname)
  const received = socket[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>
  const answers: { head: string; body: Buffer<ArrayBuffer> }[] = []
  let buffer = Buffer.alloc(0)
  const read = async () => {
    const { value, done } = await received.next()
    if (done) throw new Error('the server closed the connection')
    buffer = Buffer.concat([buffer, value])
  }
  for (const { head, hasBody = true } of requests) {
    socket.write([...head, `Host: ${host}`, '', ''].join('\r\n'))
    while (!buffer.includes('\r\n\r\n')) await read()
    const end = buffer.indexOf('\r\n\r\n')
    const text = buffer.subarray(0, end).toString()
    const length = hasBody ? Number(/^content-length: (\d+)$/im.exec(text)?.[1]) : 0
    while (buffer.length < end + 4 + length) await read()
    answers.push({ head: text, body: Buffer.from(buffer.subarray(end + 4, end + 4 + length)) })
    buffer = Buffer.from(buffer.subarray(end + 4 + length))
  }
  expect(buffer.length).toBe(0)
  socket.destroy()
  return answers
}

const request = (offset: number, more: string[] = []) => ({
  head: [`GET ${LIST}?page=20&offset=${offset} HTTP/1.1`, `Authorization: Bearer ${token}`, ...more],
})

test('A connection serves hundreds of requests, one after the other', async () => {
  const answers = await overOneConnection(Array.from({ length: 300 }, (_, index) => request(index % 60)))
  for (const [index, { head, body }] of answers.entries()) {
    expect(head).toStartWith('HTTP/1.1 200')
    expect(head).not.toMatch(/^connection: close/im)
    expect(JSON.parse(body.toString()).meta.offset).toBe(index % 60)
  }
})

test('A connection stays in step through compressed answers, HEAD and errors', async () => {
  const gzip = ['Accept-Encoding: gzip']
  const head = { head: [`HEAD ${LIST} HTTP/1.1`, `Authorization: Bearer ${token}`, ...gzip], hasBody: false }
  const cycle = [
    request(0, gzip),
    head,
    { head: [`GET ${LIST} HTTP/1.1`] },
    { head: [`GET ${LIST}/1 HTTP/1.1`, `Authorization: Bearer ${token}`] },
    { head: ['GET /nothing HTTP/1.1'] },
    { head: [`POST ${LIST} HTTP/1.1`, 'Content-Length: 0'] },
    request(40),
  ]
  const answers = await overOneConnection(Array.from({ length: 20 }, () => cycle).flat())
  const statuses = answers.map(({ head }) => Number(head.split(' ')[1]))
  expect(statuses).toEqual(Array.from({ length: 20 }, () => [200, 200, 401, 404, 404, 405, 200]).flat())
  for (const [index, { body }] of answers.entries()) {
    if (index % 7 === 0)
      expect(JSON.parse(Buffer.from(Bun.gunzipSync(body)).toString()).data).toHaveLength(20)
    if (index % 7 === 6) expect(JSON.parse(body.toString()).meta.offset).toBe(40)
  }
})
