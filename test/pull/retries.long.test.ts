import { describe, expect, test } from 'bun:test'
import { FlakyProxy } from '../support/flaky-proxy.ts'
import { linesOf, outputIn, pullFrom, usePullSource } from '../support/pull.ts'

const source = usePullSource()

describe('a pull', () => {
  test('waits for Retry-After before it retries', async () => {
    let refused = 0
    let waited = 0
    source.front.hook = n => {
      if (n === 4) waited = performance.now() - refused
      if (n !== 3) return
      refused = performance.now()
      return new Response('', { status: 503, headers: { 'retry-after': '1' } })
    }
    const { pauses } = await pullFrom(source.front.baseUrl, source.client, outputIn())
    expect(waited).toBeGreaterThanOrEqual(995)
    expect(pauses).toEqual([[`${source.front.baseUrl}/api/v1/ax/assessments answered 503`, 1000]])
  })

  test.each(['0', new Date(0).toUTCString()])(
    'does not retry at once, even if Retry-After is %s',
    async retryAfter => {
      source.front.hook = n =>
        n === 3 ? new Response('', { status: 503, headers: { 'retry-after': retryAfter } }) : undefined
      const { pauses } = await pullFrom(source.front.baseUrl, source.client, outputIn())
      expect(pauses).toEqual([[expect.any(String), expect.any(Number)]])
      expect(pauses[0]?.[1]).toBeWithin(250, 501)
    },
  )

  test('retries after a 400 that has neither a body nor an X-Request-Id, and not after another one', async () => {
    const url = `${source.front.baseUrl}/api/v1/ax/assessments`
    const bare = () => new Response(null, { status: 400 })
    source.front.hook = n => (n === 3 ? bare() : undefined)
    const { pauses } = await pullFrom(source.front.baseUrl, source.client, outputIn())
    expect(pauses).toEqual([[`${url} answered 400 without a body`, expect.any(Number)]])
    source.front.hook = () => new Response(null, { status: 400, headers: { 'x-request-id': 'a' } })
    const refused = pullFrom(source.front.baseUrl, source.client, outputIn())
    expect(await refused.catch(({ message }) => message)).toContain('answered 400: is that')
  })

  test('retries with growing pauses if the connection breaks in the middle of an answer', async () => {
    const proxy = await FlakyProxy.start(source.front.baseUrl)
    const baseUrl = new URL(proxy.url).origin
    let cuts = 2
    source.front.hook = n => {
      if (n === 3)
        proxy.setNetwork({ is: 'cutting', after: () => (cuts-- > 0 ? 5000 : Number.POSITIVE_INFINITY) })
    }
    const out = outputIn()
    const { pauses } = await pullFrom(baseUrl, source.client, out).finally(() => proxy.stop())
    expect(linesOf(out)).toEqual(source.expected)
    // fetch of Bun retries once by itself after an error on a reused connection.
    expect(pauses.length).toBeWithin(1, 3)
    for (const [index, [reason, milliseconds]] of pauses.entries()) {
      expect(reason).toBe(`${baseUrl} closed the connection`)
      expect(milliseconds).toBeWithin(250 * 2 ** index, 500 * 2 ** index + 1)
    }
  })
})
