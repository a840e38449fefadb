import { Elysia } from 'elysia'
import { type Answer, apiError, COMPRESSIBLE } from '../answers.ts'
import type { ServingDatabase } from '../database/pool.ts'
import { NOBODY } from './admission.ts'
import script from './docs/page.browser.js' with { type: 'text' }
import style from './docs/page.css' with { type: 'text' }
import { docsPage } from './docs/page.ts'
import samplesStyle from './docs/samples.css' with { type: 'text' }
import tryScript from './docs/try.browser.js' with { type: 'text' }
import tryStyle from './docs/try.css' with { type: 'text' }
import widths from './docs/widths.css' with { type: 'text' }
import { notAllowed } from './errors.ts'
import type { Limits } from './limits.ts'
import { openApiDocument } from './openapi/document.ts'
import { originOf } from './request-log.ts'
import { PlatformTimeZone } from './time-zone.ts'

/** Nothing from outside, nothing inline, nothing sent anywhere, and no page around it. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

const HEADERS = { ...COMPRESSIBLE, 'cache-control': 'no-cache' }

/** /openapi.json, /docs and its files. Credentials do not belong in browsers (docs/contract.md): forms are optional. */
export function reference(limits: Limits, db: ServingDatabase) {
  const timeZone = new PlatformTimeZone(db)
  const app = new Elysia({ name: 'reference' })
  const withForms = limits.docs === 'try'
  const pageHeaders = {
    ...HEADERS,
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    // The forms send requests, to this service alone.
    'content-security-policy': withForms ? `${POLICY}; connect-src 'self'` : POLICY,
  }
  const endpoint = (path: string, answer: (request: Request) => Answer | Promise<Answer>) =>
    app
      .get(path, ({ request }) =>
        originOf(request).monitor.admission.admit(apiError, NOBODY, () => answer(request)),
      )
      .all(path, ({ request }) => notAllowed(request, 'GET, HEAD', apiError))
  /** The text is made for the first request that finds this time zone, and kept. */
  const described = (path: string, headers: Record<string, string>, text: (zone?: string) => string) => {
    let kept: { zone: string | undefined; text: string } | undefined
    return endpoint(path, async request => {
      const zone = await timeZone.read(request)
      if (kept?.zone !== zone || !kept) kept = { zone, text: text(zone) }
      return { status: 200, headers, body: [kept.text] }
    })
  }
  const headersOf = (type: string) => ({ ...pageHeaders, 'content-type': `${type}; charset=utf-8` })
  const file = (path: string, type: string, text: string) =>
    endpoint(path, () => ({ status: 200, headers: headersOf(type), body: [text] }))
  described('/openapi.json', HEADERS, zone => JSON.stringify(openApiDocument(limits, zone)))
  if (limits.docs === 'off') return app
  described('/docs', headersOf('text/html'), zone => docsPage(openApiDocument(limits, zone), withForms))
  file('/docs/page.css', 'text/css', [style, samplesStyle, withForms ? tryStyle : '', widths].join('\n'))
  file('/docs/page.js', 'text/javascript', script)
  if (withForms) file('/docs/try.js', 'text/javascript', tryScript)
  return app
}
