import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import pino from 'pino'
import { CHROMIUM, closeBrowser, lowestContrast, visiting } from '../support/browser.ts'
import { requires } from '../support/requires.ts'
import { listen, openTestDatabase, type TestDatabase } from '../support/service.ts'

setDefaultTimeout(120_000)

let database: TestDatabase
let service: ReturnType<typeof listen>
beforeAll(async () => {
  database = await openTestDatabase()
  service = listen(database, pino({ enabled: false }))
})
afterAll(async () => {
  await closeBrowser()
  await service?.stop()
  await database?.close()
})

/** The elements whose text has to be legible. */
const READ = 'h1, h2, p, a, th, td, code, label, pre, small, strong, summary'

/** The number of elements that scroll, and those of them that cannot have the focus and have nothing in them that can. */
const SCROLLING = `(() => {
  for (const details of document.querySelectorAll('details')) details.open = true
  const scrolls = element => {
    const { overflowX, overflowY } = getComputedStyle(element)
    const [isWide, isHigh] = [element.scrollWidth > element.clientWidth, element.scrollHeight > element.clientHeight]
    return (isWide && /auto|scroll/.test(overflowX)) || (isHigh && /auto|scroll/.test(overflowY))
  }
  const scrolling = [...document.querySelectorAll('body *')].filter(scrolls)
  const isReached = element => element.tabIndex >= 0 || element.querySelector('a, input, summary, [tabindex="0"]')
  return [scrolling.length, scrolling.filter(element => !isReached(element)).map(element => element.outerHTML.slice(0, 80))]
})()`

const inBrowser = requires({ name: 'Chromium', debianPackage: 'chromium', isHere: Boolean(CHROMIUM) })

inBrowser.describe('the page /docs in Chromium', () => {
  test('is read with one request and without a message of the console', async () => {
    await visiting({}, async ({ page, requested, consoleMessages }) => {
      await page.goto(`${service.url}/docs`, { waitUntil: 'networkidle' })
      expect(await page.title()).toBe('Assessment Export Service')
      expect(requested).toEqual([`${service.url}/docs`])
      expect(consoleMessages).toEqual([])
    })
  })

  test('has the samples of each language in tabs, also by the keyboard', async () => {
    await visiting({ javaScriptEnabled: false }, async ({ page }) => {
      await page.goto(`${service.url}/docs`)
      const tabs = page.locator('.tabs label')
      expect(await tabs.allTextContents()).toEqual(['curl', 'Python', 'TypeScript', 'Go', 'C#'])
      const shown = async () => (await page.locator('.tabs pre:visible').allTextContents()).join()
      expect(await shown()).toStartWith('offset=0')
      await tabs.nth(1).click()
      expect(await shown()).toStartWith('import json')
      await page.keyboard.press('ArrowRight')
      expect(await shown()).toStartWith('const {')
    })
  })

  test('has nothing that scrolls and that the keyboard does not reach', async () => {
    await visiting({ viewport: { width: 390, height: 844 } }, async ({ page }) => {
      await page.goto(`${service.url}/docs`)
      const [scrolling, unreachable] = (await page.evaluate(SCROLLING)) as [number, string[]]
      expect(scrolling).toBeGreaterThan(10)
      expect(unreachable).toEqual([])
    })
  })

  test('shows all samples on paper', async () => {
    await visiting({}, async ({ page }) => {
      await page.goto(`${service.url}/docs`)
      await page.emulateMedia({ media: 'print' })
      expect(await page.locator('.tabs pre:visible').count()).toBe(5)
      expect(await page.locator('nav').isVisible()).toBe(false)
    })
  })

  test('fits wide screens and phones, and has enough contrast in light and in dark mode', async () => {
    await visiting({}, async ({ page, consoleMessages }) => {
      await page.goto(`${service.url}/docs`)
      await page.evaluate('for (const details of document.querySelectorAll("details")) details.open = true')
      for (const width of [1280, 390])
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.setViewportSize({ width, height: 844 })
          await page.emulateMedia({ colorScheme })
          expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
          expect(await lowestContrast(page, READ)).toBeGreaterThan(4.5)
          const [ground] =
            /\d+/.exec(await page.evaluate('getComputedStyle(document.body).backgroundColor')) ?? []
          expect(Number(ground) < 128).toBe(colorScheme === 'dark')
        }
      expect(consoleMessages).toEqual([])
    })
  })
})
