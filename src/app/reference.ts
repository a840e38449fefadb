import { Elysia } from 'elysia'
import { apiError, COMPRESSIBLE } from '../answers.ts'
import type { ServingDatabase } from '../database/pool.ts'
import { NOBODY } from './admission.ts'
import { answerOf, HIDDEN, notAllowed } from './errors.ts'
import type { Limits } from './limits.ts'
import { baseAddress } from './reference/base-address.ts'
import { inTimeZone, type OpenApiDocument, openApiDocument } from './reference/document.ts'
import { docsPage, STYLE_HASH } from './reference/page.ts'
import { originOf } from './request-log.ts'
import { PlatformTimeZone } from './time-zone.ts'

/** The page takes nothing from outside, runs and sends nothing, and has no page around it. */
const POLICY = [
  "default-src 'none'",
  `style-src '${STYLE_HASH}'`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const JSON_HEADERS = { ...COMPRESSIBLE, 'cache-control': 'no-cache' }
const PAGE_HEADERS = {
  ...JSON_HEADERS,
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
}

/** /openapi.json, which describes the routes by what they are validated with, and /docs, which shows it. */
export function reference(limits: Limits, db: ServingDatabase) {
  const timeZone = new PlatformTimeZone(db)
  const app = new Elysia({ name: 'reference' })
  let known: OpenApiDocument | undefined
  /** The document of now, with the time zone. The routes are known at the first request. */
  const described = (request: Request) =>
    originOf(request).monitor.admission.admit(apiError, NOBODY, async () => {
      known ??= openApiDocument(app)
      return inTimeZone(known, await timeZone.read(request))
    })
  app
    .onError(({ error, request }) => answerOf(request, error, apiError))
    .all('/openapi.json', ({ request }) => notAllowed(request, 'GET, HEAD', apiError), HIDDEN)
    .get(
      '/openapi.json',
      async ({ request }) => {
        const body = [JSON.stringify(await described(request))]
        return { status: 200, headers: JSON_HEADERS, body }
      },
      HIDDEN,
    )
  return limits.docs === 'off' ? app : app.use(page(described))
}

const page = (described: (request: Request) => Promise<OpenApiDocument>) =>
  new Elysia({ name: 'docs' })
    .all('/docs', ({ request }) => notAllowed(request, 'GET, HEAD', apiError), HIDDEN)
    .get(
      '/docs',
      async ({ request }) => {
        const body = [docsPage(await described(request), baseAddress(request))]
        return { status: 200, headers: PAGE_HEADERS, body }
      },
      HIDDEN,
    )
