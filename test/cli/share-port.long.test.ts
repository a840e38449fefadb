import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { axport, errorLine, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { bearer, LIST, send } from '../support/http.ts'
import { type Served, useServedWorld } from '../support/served.ts'
import { until } from '../support/until.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const world = useServedWorld()

/** The status of a page on a connection of its own: the system chooses the process for each connection. */
const page = async (url: string) =>
  (await send(url, LIST, { headers: { ...bearer(world.token), connection: 'close' } })).status

const pagesOf = (running: Served) => running.log().filter(({ msg }) => msg === 'request').length

describe('SHARE_PORT', () => {
  test('lets two processes serve one port, and one goes on alone when the other ends', async () => {
    const first = await world.serve([], { SHARE_PORT: 'on' })
    const second = await world.serve([], { SHARE_PORT: 'on', PORT: new URL(first.url).port })
    expect(second.url).toBe(first.url)
    await until('both have served', async () => {
      expect(await page(first.url)).toBe(200)
      return pagesOf(first) > 0 && pagesOf(second) > 0
    })
    await first.end()
    const before = pagesOf(second)
    for (let request = 0; request < 10; request++) expect(await page(second.url)).toBe(200)
    await until('the log has them', () => pagesOf(second) === before + 10)
    await second.end()
  })

  test('is needed in both processes: otherwise the second one says that the port is in use', async () => {
    for (const [first, second] of [
      ['on', 'off'],
      ['off', 'on'],
    ] as const) {
      const running = await world.serve([], { SHARE_PORT: first })
      const { port } = new URL(running.url)
      const late = await axport(['serve'], { env: { ...world.env, PORT: port, SHARE_PORT: second } })
      expect(errorLine(late, 1)).toBe(
        `port ${port} on 127.0.0.1 is in use: stop its listener, or set another PORT`,
      )
      await running.end()
    }
  })
})
