import { Elysia } from 'elysia'
import { COMPRESSIBLE } from '../../answers.ts'
import type { BodyLimits } from '../../oauth/body.ts'
import { refuseOthers, useGet } from '../methods.ts'
import { openApiDocument } from '../openapi/document.ts'
import { respond } from '../respond.ts'
import script from './page.browser.js' with { type: 'text' }
import style from './page.css' with { type: 'text' }
import { docsPage } from './page.ts'
import type { ShownDocument } from './shown.ts'
import tryStyle from './try.css' with { type: 'text' }
import widths from './widths.css' with { type: 'text' }

/** Nothing from outside, nothing inline, nothing sent anywhere but here, and no page around it. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

const HEADERS = {
  ...COMPRESSIBLE,
  'cache-control': 'no-cache',
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
}

/** GET /docs and the two files that the page needs. It is made for the first one that asks. */
export function docsRoutes(limits: BodyLimits) {
  let page: string | undefined
  const files: Record<string, [type: string, text: () => string]> = {
    '/docs': ['text/html', () => (page ??= docsPage(openApiDocument(limits) as unknown as ShownDocument))],
    '/docs/page.css': ['text/css', () => style + tryStyle + widths],
    '/docs/page.js': ['text/javascript', () => script],
  }
  const app = new Elysia({ name: 'docs' })
  for (const [path, [type, text]] of Object.entries(files)) {
    const send = ({ request }: { request: Request }) =>
      respond(request, {
        status: 200,
        headers: { ...HEADERS, 'content-type': `${type}; charset=utf-8` },
        body: text(),
      })
    app.get(path, send).head(path, send)
    refuseOthers(app, path, useGet)
  }
  return app
}
