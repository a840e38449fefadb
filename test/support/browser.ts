import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

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

/** A real Chromium, headless, without the connections that it makes by itself, and with a new profile. */
const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Visits with a browser that is closed in the end, whatever happens. */
export async function visiting(
  options: BrowserContextOptions,
  visit: (visit: Visit) => Promise<void>,
): Promise<void> {
  const profile = mkdtempSync(join(tmpdir(), 'axport-chromium-'))
  let context: BrowserContext | undefined
  try {
    context = await chromium.launchPersistentContext(profile, {
      ...options,
      ...(CHROMIUM && { executablePath: CHROMIUM }),
      args: ARGUMENTS,
      timeout: 60_000,
    })
    const page = context.pages()[0] ?? (await context.newPage())
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
    await context?.close()
    rmSync(profile, { recursive: true, force: true })
  }
}
