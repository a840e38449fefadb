import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

/** The path of Chromium on this machine, or undefined. The variable CHROMIUM names one that is not on PATH. */
export const CHROMIUM =
  process.env.CHROMIUM || Bun.which('chromium') || Bun.which('chromium-browser') || Bun.which('google-chrome')

/** A page in a browser profile of its own, with the requests and messages of that page. */
export interface Visit {
  page: Page
  /** Requested URLs, in the order of the requests. */
  requested: string[]
  /** The errors, warnings and policy violations that the page printed to its console. */
  consoleMessages: string[]
}

/** Arguments that make Chromium headless and switch off its own background connections. */
const ARGUMENTS = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
]

let browser: Promise<Browser> | undefined

/** Closes the browser that all visits share. */
export async function closeBrowser(): Promise<void> {
  await (await browser)?.close()
  browser = undefined
}

/** Calls `visit` with a page in a new profile, and removes the profile afterwards, also after an error. */
export async function visiting(
  options: BrowserContextOptions,
  visit: (visit: Visit) => Promise<void>,
): Promise<void> {
  browser ??= chromium.launch({
    ...(CHROMIUM && { executablePath: CHROMIUM }),
    args: ARGUMENTS,
    timeout: 60_000,
  })
  const context = await (await browser).newContext(options)
  try {
    const page = await context.newPage()
    page.setDefaultTimeout(30_000)
    const requested: string[] = []
    const consoleMessages: string[] = []
    context.on('request', request => requested.push(request.url()))
    page.on('console', message => {
      if (message.type() !== 'log') consoleMessages.push(`${message.type()}: ${message.text()}`)
    })
    page.on('pageerror', error => consoleMessages.push(error.message))
    await visit({ page, requested, consoleMessages })
  } finally {
    await context.close()
  }
}

/**
 * The lowest contrast (WCAG 2) of the elements that a selector names: of their text, or of the fill of a shape, against
 * the background.
 */
export const lowestContrast = (page: Page, selector: string): Promise<number> =>
  page.evaluate(`(() => {
    const channels = color => color.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
      .map(v => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    const luminance = color => channels(color).reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0)
    const ground = element => {
      const own = getComputedStyle(element).backgroundColor
      return own === 'rgba(0, 0, 0, 0)' ? ground(element.parentElement) : own
    }
    const of = element => {
      const style = getComputedStyle(element)
      const color = element.tagName === 'rect' ? style.fill : style.color
      const [a, b] = [color, ground(element)].map(luminance).sort((a, b) => b - a)
      return (a + 0.05) / (b + 0.05)
    }
    const found = [...document.querySelectorAll(${JSON.stringify(selector)})]
    if (found.length === 0) throw new Error('nothing matches')
    return Math.min(...found.map(of))
  })()`)
