import { type Answer, apiError, COMPRESSIBLE } from '../../answers.ts'
import { NOBODY } from '../admission.ts'
import type { Endpoint, Limits } from '../endpoint.ts'
import { openApiDocument } from '../openapi/document.ts'
import type { PlatformTimeZone } from '../openapi/time-zone.ts'
import { originOf } from '../request-log.ts'
import script from './page.browser.js' with { type: 'text' }
import style from './page.css' with { type: 'text' }
import { docsPage } from './page.ts'
import samplesStyle from './samples.css' with { type: 'text' }
import tryScript from './try.browser.js' with { type: 'text' }
import tryStyle from './try.css' with { type: 'text' }
import widths from './widths.css' with { type: 'text' }

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
export function docsEndpoints(limits: Limits, timeZone: PlatformTimeZone): Endpoint[] {
  const withForms = limits.docs === 'try'
  const pageHeaders = {
    ...HEADERS,
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    // The forms send requests, to this service alone.
    'content-security-policy': withForms ? `${POLICY}; connect-src 'self'` : POLICY,
  }
  const endpoint = (path: string, answer: (request: Request) => Answer | Promise<Answer>): Endpoint => ({
    path,
    method: 'GET',
    style: apiError,
    answer: request => originOf(request).monitor.admission.admit(apiError, NOBODY, () => answer(request)),
  })
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
  const json = described('/openapi.json', HEADERS, zone => JSON.stringify(openApiDocument(limits, zone)))
  if (limits.docs === 'off') return [json]
  return [
    json,
    described('/docs', headersOf('text/html'), zone => docsPage(openApiDocument(limits, zone), withForms)),
    file('/docs/page.css', 'text/css', [style, samplesStyle, withForms ? tryStyle : '', widths].join('\n')),
    file('/docs/page.js', 'text/javascript', script),
    ...(withForms ? [file('/docs/try.js', 'text/javascript', tryScript)] : []),
  ]
}
