import { Elysia } from 'elysia'
import { COMPRESSIBLE } from '../../answers.ts'
import type { Limits } from '../limits.ts'
import { refuseOthers, useGet } from '../methods.ts'
import { openApiDocument } from '../openapi/document.ts'
import { respond } from '../respond.ts'
import script from './page.browser.js' with { type: 'text' }
import style from './page.css' with { type: 'text' }
import { docsPage } from './page.ts'
import type { ShownDocument } from './shown.ts'
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

const HEADERS = {
  ...COMPRESSIBLE,
  'cache-control': 'no-cache',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
}

/** The forms send requests, to this service alone. */
const TRY_POLICY = `${POLICY}; connect-src 'self'`

/**
 * GET /docs and the files that the page needs. It is made for the first one that asks. Credentials do not belong in
 * browsers (spec 8, rule 7): the forms that take them are there where somebody wants them, and for a demo.
 */
export function docsRoutes(limits: Limits) {
  const isTried = limits.docs === 'try'
  const headers = { ...HEADERS, 'content-security-policy': isTried ? TRY_POLICY : POLICY }
  let page: string | undefined
  const html = () => docsPage(openApiDocument(limits) as unknown as ShownDocument, isTried)
  const files: Record<string, [type: string, text: () => string]> = {
    '/docs': ['text/html', () => (page ??= html())],
    '/docs/page.css': ['text/css', () => style + (isTried ? tryStyle : '') + widths],
    '/docs/page.js': ['text/javascript', () => script],
    ...(isTried && { '/docs/try.js': ['text/javascript', () => tryScript] }),
  }
  const app = new Elysia({ name: 'docs' })
  for (const [path, [type, text]] of Object.entries(files)) {
    const send = ({ request }: { request: Request }) =>
      respond(request, {
        status: 200,
        headers: { ...headers, 'content-type': `${type}; charset=utf-8` },
        body: text(),
      })
    app.get(path, send).head(path, send)
    refuseOthers(app, path, useGet)
  }
  return app
}
