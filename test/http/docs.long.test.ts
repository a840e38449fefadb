import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { CHROMIUM, closeBrowser, lowestContrast, visiting } from '../support/browser.ts'
import { axport, cleanUp, serve, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { assessment, EDUCATOR, educator, world } from '../support/fixtures.ts'
import { requires } from '../support/requires.ts'
import { load, openTestDatabase, type TestDatabase } from '../support/service.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

/** A number beyond the precise numbers of JavaScript. */
const LARGE = '9007199254740993'
const HOSTILE = '<img src=x onerror="document.title=1">'

let database: TestDatabase
/** A service with forms on the page, and one without. */
let service: Awaited<ReturnType<typeof serve>>
let reference: typeof service
let credentials: { client_id: string; client_secret: string }

beforeAll(async () => {
  database = await openTestDatabase()
  const hostile = educator(EDUCATOR, { name: HOSTILE, seid: 'S1' })
  await load(database.sql, world())
  await load(database.sql, [hostile, assessment(9001), assessment(9002)])
  // JSON.stringify cannot write this number.
  await database.sql.begin(async sql => {
    await sql`insert into assessments (id, user_id, organization_id, product_id, certified_at)
      values (${LARGE}, 501, 10, 1, '2026-03-01')`
    await sql`insert into assessment_parts (id, assessment_id, position, proctor_id) values (${LARGE}, ${LARGE}, 1, 77)`
  })
  const env = { DATABASE_URL: database.url }
  const scope = ['--organizations', '10', '--products', '1']
  const created = await axport(['integration', 'create', 'x', ...scope, '--json'], { env })
  credentials = JSON.parse(created.stdout) as typeof credentials
  service = await serve({ ...env, DOCS: 'try' })
  reference = await serve(env)
})
afterAll(async () => {
  await closeBrowser()
  await cleanUp()
  await database?.close()
})

describe('the reference page', () => {
  test.each([
    ['', () => reference, ['page']],
    [' with forms', () => service, ['page', 'try']],
  ])(
    'is served%s by the executable with a policy that forbids other origins and inline code',
    async (_, served, scripts) => {
      const { url } = served()
      const page = await fetch(`${url}/docs`)
      expect(page.status).toBe(200)
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
      const policy = page.headers.get('content-security-policy') ?? ''
      expect(policy).toStartWith("default-src 'none'; ")
      expect(policy).not.toMatch(/unsafe|https?:|\*/)
      const html = await page.text()
      expect(html).not.toMatch(
        /<style|style=|<script(?! type="module" src="docs\/(page|try)\.js">)|\son\w+=|https?:/,
      )
      for (const [path, type] of [
        ['/docs/page.css', 'text/css'],
        ...scripts.map(name => [`/docs/${name}.js`, 'text/javascript']),
      ]) {
        const file = await fetch(url + path)
        expect([file.status, file.headers.get('content-type')]).toEqual([200, `${type}; charset=utf-8`])
        expect(file.headers.get('x-content-type-options')).toBe('nosniff')
        expect(await file.text()).not.toMatch(/https?:\/\/|@import/)
      }
      expect((await fetch(`${url}/docs`, { method: 'POST' })).status).toBe(405)
      expect(await (await fetch(`${url}/docs`, { method: 'HEAD' })).text()).toBe('')
    },
  )

  test('without forms takes no credentials and may send no request', async () => {
    const page = await fetch(`${reference.url}/docs`)
    expect(page.headers.get('content-security-policy')).not.toContain('connect-src')
    const html = await page.text()
    expect(html).not.toMatch(/<form|<input|<button|id="try"|#try|try\.js/)
    // What page.js replaces is a variable of the shell, or an expression of its language.
    expect(html).not.toContain('BASE_URL')
    const samples = [...html.matchAll(/<pre class="sample (\w+)">([\s\S]*?)<\/pre>/g)]
    expect(samples.map(([, language]) => language)).toEqual(
      Array(3).fill(['curl', 'TypeScript', 'Python', 'Go']).flat(),
    )
    for (const [, , text] of samples)
      expect(text).toMatch(/<span class="base"( data-quoted)?>[^<]*AXPORT_URL[^<]*<\/span>/)
    expect((await fetch(`${reference.url}/docs/try.js`)).status).toBe(404)
    expect(await (await fetch(`${reference.url}/docs/page.js`)).text()).not.toContain('fetch')
  })

  test('has every parameter, answer and field of the OpenAPI document', async () => {
    const html = await (await fetch(`${service.url}/docs`)).text()
    const document = (await (await fetch(`${service.url}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { parameters?: { name: string }[]; responses: object }>>
      components: { schemas: Record<string, { properties: object }> }
    }
    const schemas = Object.values(document.components.schemas)
    const names = schemas.flatMap(({ properties }) => Object.keys(properties))
    for (const [path, operations] of Object.entries(document.paths))
      for (const { parameters = [], responses } of Object.values(operations)) {
        names.push(path, ...parameters.map(({ name }) => name))
        for (const status of Object.keys(responses)) expect(html).toContain(`>${status}</span>`)
      }
    expect(names.length).toBeGreaterThan(40)
    for (const name of names) expect(html).toContain(`<code>${name}</code>`)
  })

  test('and its files do not exist with DOCS=off, but /openapi.json does', async () => {
    const without = await serve({ DATABASE_URL: database.url, DOCS: 'off' })
    for (const path of ['/docs', '/docs/page.css', '/docs/page.js', '/docs/try.js'])
      expect((await fetch(without.url + path)).status).toBe(404)
    expect((await fetch(`${without.url}/openapi.json`)).status).toBe(200)
    without.signal('SIGTERM')
    await without.finished
  })
})

/** Fills in the credentials and waits for the message about the token. */
async function getToken(page: Page, secret = credentials.client_secret): Promise<string> {
  await page.fill('[name=client_id]', credentials.client_id)
  await page.fill('[name=client_secret]', secret)
  await page.click('#token-form button')
  const state = page.locator('#token-state:not(:empty)')
  return (await state.textContent()) ?? ''
}

/** Submits a form and waits for its answer. */
async function answerTo(page: Page, form: string): Promise<{ status: string; body: string }> {
  await page.evaluate('document.getElementById("result-body").textContent = ""')
  await page.click(`${form} button`)
  const text = async (id: string) => (await page.locator(`#${id}:not(:empty)`).textContent()) ?? ''
  const body = await text('result-body')
  return { status: await text('result-status'), body }
}

/** The elements whose text has to be legible. */
const READ = 'h1, h2, p, a, th, td, code, label, button, pre, .status, .default'

const inBrowser = requires({ name: 'Chromium', debianPackage: 'chromium', isHere: Boolean(CHROMIUM) })

inBrowser.describe('the reference page in Chromium', () => {
  test('renders without console messages and requests only its three files', async () => {
    await visiting(
      { viewport: { width: 1280, height: 900 } },
      async ({ page, requested, consoleMessages }) => {
        await page.goto(`${reference.url}/docs`, { waitUntil: 'networkidle' })
        expect(await page.title()).toBe('Assessment Export Service')
        expect(await page.locator('h1').isVisible()).toBe(true)
        expect(await page.locator('header code').first().textContent()).toBe(reference.url)
        for (const text of await page.locator('pre.sample').allTextContents()) {
          expect(text).toContain(reference.url)
          expect(text).not.toContain('AXPORT_URL')
        }
        expect(await page.locator('pre.sample').first().textContent()).toStartWith(
          `TOKEN=$(curl -sS "${reference.url}/oauth/token" `,
        )
        expect(requested).toEqual(
          ['/docs', '/docs/page.css', '/docs/page.js'].map(path => reference.url + path),
        )
        expect(consoleMessages).toEqual([])
      },
    )
  })

  test('has the samples of each language in tabs, which all requests share, also by the keyboard', async () => {
    await visiting({ viewport: { width: 1280, height: 900 } }, async ({ page, consoleMessages }) => {
      await page.goto(`${reference.url}/docs`)
      const visible = () =>
        page.locator('pre.sample:visible').evaluateAll(shown => shown.map(one => one.className))
      expect(await visible()).toEqual(Array(3).fill('sample curl'))
      const tabs = page.locator('#listAssessments').getByRole('tab')
      expect(await tabs.allTextContents()).toEqual(['curl', 'TypeScript', 'Python', 'Go'])
      await tabs.nth(2).click()
      expect(await visible()).toEqual(Array(3).fill('sample Python'))
      expect(await tabs.nth(2).getAttribute('aria-selected')).toBe('true')
      await page.keyboard.press('ArrowRight')
      expect(await visible()).toEqual(Array(3).fill('sample Go'))
      await page.keyboard.press('ArrowRight')
      expect(await visible()).toEqual(Array(3).fill('sample curl'))
      expect(await page.evaluate('document.activeElement.textContent')).toBe('curl')
      expect(consoleMessages).toEqual([])
    })
  })

  test('copies a sample and an example', async () => {
    const permissions = ['clipboard-read', 'clipboard-write']
    await visiting(
      { viewport: { width: 1280, height: 900 }, permissions },
      async ({ page, consoleMessages }) => {
        await page.goto(`${reference.url}/docs`)
        for (const place of ['#issueToken .panel', '#retrieveAssessment .answer']) {
          const block = page.locator(`${place} .block`).first()
          await block.getByRole('button', { name: 'Copy' }).click()
          await block.getByRole('button', { name: 'Copied' }).waitFor()
          expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
            (await block.locator('pre').textContent()) as string,
          )
        }
        // Without HTTPS a page has no clipboard.
        await page.evaluate('Object.defineProperty(navigator, "clipboard", { value: undefined })')
        const block = page.locator('#listAssessments .panel .block').first()
        await block.getByRole('button', { name: 'Copy' }).click()
        expect(await page.evaluate('String(getSelection())')).toBe(
          (await block.locator('pre').textContent()) as string,
        )
        expect(consoleMessages).toEqual([])
      },
    )
  })

  test('links every section and row to itself, and marks the section in view', async () => {
    await visiting({ viewport: { width: 1280, height: 900 } }, async ({ page, consoleMessages }) => {
      await page.goto(`${service.url}/docs`)
      const broken = `[...document.querySelectorAll('a[href^="#"]')].map(link => link.hash.slice(1))
        .filter(id => document.querySelectorAll('[id="' + id + '"]').length !== 1)`
      expect(await page.evaluate(broken)).toEqual([])
      const without = `[...document.querySelectorAll('main section:not(#try) h2, tbody th')]
        .filter(place => !place.querySelector('.anchor')).length`
      expect(await page.evaluate(without)).toBe(0)
      const marked = page.locator('nav [aria-current]')
      for (const id of ['listAssessments', 'filters', 'AssessmentRecord', 'OAuthError']) {
        await page.click(`nav a[href="#${id}"]`)
        await page.locator(`nav a[href="#${id}"][aria-current]`).waitFor()
        expect(await marked.count()).toBe(1)
      }
      await page.goto(`${service.url}/docs#listAssessments-filter-seids`)
      expect(await page.locator('tr:target code').first().textContent()).toBe('filter[seids][]')
      await page.locator('nav a[href="#listAssessments"][aria-current]').waitFor()
      expect(consoleMessages).toEqual([])
    })
  })

  test('has a menu on a phone, with the schemas and the section in view', async () => {
    await visiting({ viewport: { width: 390, height: 844 } }, async ({ page, consoleMessages }) => {
      await page.goto(`${service.url}/docs`)
      const link = page.locator('nav a[href="#AssessmentRecord"]')
      expect(await link.isVisible()).toBe(false)
      await page.click('nav summary')
      await link.click()
      expect(await link.isVisible()).toBe(false)
      await page.getByText('Contents: AssessmentRecord').waitFor()
      expect(await page.locator('#AssessmentRecord h2').isVisible()).toBe(true)
      await page.setViewportSize({ width: 1280, height: 900 })
      await link.waitFor()
      expect(consoleMessages).toEqual([])
    })
  })

  test('has everything without JavaScript', async () => {
    await visiting({ viewport: { width: 390, height: 844 }, javaScriptEnabled: false }, async ({ page }) => {
      await page.goto(`${reference.url}/docs`)
      expect(await page.locator('header').textContent()).toContain(
        '$AXPORT_URL, the address of this page without /docs',
      )
      expect(await page.locator('nav a[href="#ResultPart"]').isVisible()).toBe(true)
      expect(await page.locator('pre.curl:visible').count()).toBe(3)
      await page.locator('#issueToken summary', { hasText: 'Python' }).click()
      expect(await page.locator('#issueToken pre.Python').isVisible()).toBe(true)
      expect(await page.getByRole('button').count()).toBe(0)
      expect(await page.locator('body').textContent()).not.toContain('BASE_URL')
    })
  })

  test('gets a token, a list, its next page and a record from its own origin', async () => {
    await visiting(
      { viewport: { width: 1280, height: 900 } },
      async ({ page, requested, consoleMessages }) => {
        await page.goto(`${service.url}/docs`)
        expect(await getToken(page)).toMatch(/^A token, good until /)
        await page.fill('#list-form [name=page]', '2')
        await page.selectOption('#list-form [name=order]', 'DESC')
        await page.click('#list-form summary')
        await page.fill('[name="filter[start_date]"]', '2026-03-01')
        await page.fill('[name="filter[seids][]"]', 'S1\nS2')
        await page.check('[name="filter[user_record_status][]"][value=active]')
        const list = await answerTo(page, '#list-form')
        expect(list.status).toMatch(/^200 OK, \d+ ms$/)
        const parsed = JSON.parse(list.body) as { data: { id: number; name: string }[]; meta: object }
        expect(list.body).toContain(`"id": ${LARGE},`)
        expect(parsed.data[0]?.name).toBe(HOSTILE)
        expect(parsed.meta).toEqual({ count: 3, offset: 0, page: 2 })
        expect(list.body).toBe(JSON.stringify(parsed, null, 2).replaceAll(String(Number(LARGE)), LARGE))
        const query = `page=2&sort=certified_on&order=DESC&filter[start_date]=2026-03-01&filter[seids][]=S1`
        const url = decodeURIComponent(requested.at(-1) ?? '')
        expect(url).toEndWith(`?${query}&filter[seids][]=S2&filter[user_record_status][]=active`)
        const next = await answerTo(page, '#result p')
        expect((JSON.parse(next.body) as { meta: object }).meta).toEqual({ count: 3, offset: 2, page: 2 })
        expect(await page.locator('#next').isHidden()).toBe(true)
        await page.fill('#retrieve-form [name=id]', '9001')
        const record = JSON.parse((await answerTo(page, '#retrieve-form')).body) as object
        expect(record).toMatchObject({ id: 9001, name: HOSTILE })
        expect(await page.title()).toBe('Assessment Export Service')
        expect(requested.filter(url => !url.startsWith(`${service.url}/`))).toEqual([])
        expect(requested.filter(url => url.includes(credentials.client_secret))).toEqual([])
        expect(consoleMessages).toEqual([])
      },
    )
  })

  test('keeps secrets in memory only, and deletes them when the user leaves the page', async () => {
    await visiting({}, async ({ page }) => {
      await page.goto(`${service.url}/docs`)
      await getToken(page)
      await answerTo(page, '#list-form')
      const kept = '[localStorage.length, sessionStorage.length, document.cookie, location.href]'
      expect(await page.evaluate(kept)).toEqual([0, 0, '', `${service.url}/docs`])
      // The event of a page that the browser keeps in memory to show it again.
      await page.evaluate('void dispatchEvent(new Event("pagehide"))')
      expect(await page.inputValue('[name=client_secret]')).toBe('')
      expect(await page.locator('#result').isHidden()).toBe(true)
      await page.click('#list-form button')
      expect(await page.locator('#token-state:not(:empty)').textContent()).toBe('Get a token first.')
    })
  })

  test('shows errors about credentials, parameters and a missing token', async () => {
    await visiting({}, async ({ page }) => {
      await page.goto(`${service.url}/docs`)
      await page.click('#list-form button')
      expect(await page.locator('#token-state:not(:empty)').textContent()).toBe('Get a token first.')
      await page.evaluate('document.getElementById("token-state").textContent = ""')
      expect(await getToken(page, 'wrong')).toBe('Client authentication failed')
      await page.evaluate('document.getElementById("token-state").textContent = ""')
      await getToken(page)
      await page.fill('#list-form [name=page]', '0')
      const { status, body } = await answerTo(page, '#list-form')
      expect(status).toStartWith('400')
      expect(body).toContain('page must be a whole number')
    })
  })

  test('fits wide screens and phones, and has enough contrast in light and in dark mode', async () => {
    await visiting({}, async ({ page, consoleMessages }) => {
      await page.goto(`${service.url}/docs`)
      await getToken(page)
      await answerTo(page, '#list-form')
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
