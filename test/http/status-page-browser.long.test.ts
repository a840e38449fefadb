import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { CHROMIUM, closeBrowser, lowestContrast, visiting } from '../support/browser.ts'
import { startCluster } from '../support/cluster.ts'
import { axport, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { bearer, LIST, send } from '../support/http.ts'
import { requires } from '../support/requires.ts'
import { type Served, useServedWorld } from '../support/served.ts'
import { until } from '../support/until.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const world = useServedWorld({ ADMIN_PORT: '0' })
afterAll(closeBrowser)

const inBrowser = requires({ name: 'Chromium', debianPackage: 'chromium', isHere: Boolean(CHROMIUM) })

/** Looks at the page on a phone and on a wide screen, in both modes. */
async function look({ admin }: Served, heading: string): Promise<void> {
  await visiting({}, async ({ page, requested, consoleMessages }) => {
    await page.goto(`${admin}/`)
    expect(await page.locator('h1').textContent()).toBe(heading)
    for (const width of [390, 1280])
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.setViewportSize({ width, height: 844 })
        await page.emulateMedia({ colorScheme })
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
        // WCAG 2, level AA: text, and what is needed to understand a graphic.
        const read = 'h1, h2, h3, p, span, dt, dd, b, li, a, footer'
        expect(await lowestContrast(page, read)).toBeGreaterThan(4.5)
        expect(await lowestContrast(page, 'rect')).toBeGreaterThan(3)
        const [ground] =
          /\d+/.exec(await page.evaluate('getComputedStyle(document.body).backgroundColor')) ?? []
        expect(Number(ground) < 128).toBe(colorScheme === 'dark')
      }
    expect(consoleMessages).toEqual([])
    expect(requested).toEqual([`${admin}/`])
  })
}

inBrowser.describe('the page of the operator’s port in Chromium', () => {
  test('fits a phone and a wide screen and has enough contrast in both modes, with and without a database', async () => {
    const cluster = await startCluster()
    const url = cluster.url()
    expect((await axport(['migrate'], { env: { DATABASE_URL: url } })).code).toBe(0)
    const running = await world.serve([], { DATABASE_URL: url })
    const ask = () => send(running.url, LIST, { headers: bearer('x'.repeat(43)) })
    expect((await ask()).status).toBe(401)
    await look(running, 'Ready')
    await cluster.crash()
    await until('requests fail', async () => (await ask()).status === 503)
    await look(running, 'Not ready')
    await running.end()
    await cluster.stop()
  })
})
