import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

/** Chromium of this machine, or undefined. CHROMIUM names one that is not on PATH. */
export const CHROMIUM =
  process.env.CHROMIUM || Bun.which('chromium') || Bun.which('chromium-browser') || Bun.which('google-chrome')

/** A page in a browser of its own, and what happened to it. */
export interface Visit {
  page: Page
  /** Addresses that were asked for, in their order. */
  requested: string[]
  /** What the page complained of: errors, warnings, violations of its policy. */
  complaints: string[]
}

/** A real Chromium, headless, without the connections that it makes by itself. */
const ARGUMENTS = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
]

let browser: Promise<Browser> | undefined

/** Ends the browser that all visits share. */
export async function closeBrowser(): Promise<void> {
  await (await browser)?.close()
  browser = undefined
}

/** Visits with a new profile, which is gone in the end, whatever happens. */
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
    const complaints: string[] = []
    context.on('request', request => requested.push(request.url()))
    page.on('console', message => {
      if (message.type() !== 'log') complaints.push(`${message.type()}: ${message.text()}`)
    })
    page.on('pageerror', error => complaints.push(error.message))
    await visit({ page, requested, complaints })
  } finally {
    await context.close()
  }
}
