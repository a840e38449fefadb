import { Elysia } from 'elysia'
import { LRUCache } from 'lru-cache'
import { apiError, COMPRESSIBLE } from '../answers.ts'
import type { ServingDatabase } from '../database/pool.ts'
import { NOBODY } from './admission.ts'
import { baseAddress } from './docs/base-address.ts'
import { HIDDEN } from './docs/described.ts'
import { inTimeZone, type OpenApiDocument, openApiDocument, servedAt } from './docs/document.ts'
import { docsPage, STYLE_HASH } from './docs/page.ts'
import { PlatformTimeZone } from './docs/time-zone.ts'
import { failureAnswer, notAllowed } from './errors.ts'
import { exchangeOf } from './exchange.ts'
import type { Limits } from './limits.ts'

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

/** Texts that are kept, for each time zone and base address: most requests ask for the same two. */
const MAX_TEXTS = 8

/** /openapi.json, which describes the routes by what they are validated with, and /docs, which shows it. */
export function docs(limits: Limits, db: ServingDatabase) {
  const timeZone = new PlatformTimeZone(db)
  const texts = new LRUCache<string, string>({ max: MAX_TEXTS })
  const app = new Elysia({ name: 'docs' })
  let document: OpenApiDocument | undefined
  /** The answer with a text of the document, in which the time zone is that of now, and the base address that of the request. */
  const described = (request: Request, headers: Record<string, string>, name: string, write: Write) =>
    exchangeOf(request).service.admission.admit(apiError, NOBODY, async () => {
      const zone = await timeZone.read(request)
      // All routes are known at the first request.
      document ??= openApiDocument(app)
      const base = baseAddress(request)
      const key = `${name} ${base} ${zone}`
      const text = texts.get(key) ?? write(servedAt(inTimeZone(document, zone), base), base)
      texts.set(key, text)
      return { status: 200, headers, body: [text] }
    })
  app
    .onError(({ error, request }) => failureAnswer(request, error, apiError))
    .all('/openapi.json', ({ request }) => notAllowed(request, 'GET, HEAD', apiError), HIDDEN)
    .get(
      '/openapi.json',
      ({ request }) => described(request, JSON_HEADERS, 'json', document => JSON.stringify(document)),
      HIDDEN,
    )
  if (limits.docs === 'off') return app
  return app
    .all('/docs', ({ request }) => notAllowed(request, 'GET, HEAD', apiError), HIDDEN)
    .get('/docs', ({ request }) => described(request, PAGE_HEADERS, 'page', docsPage), HIDDEN)
}

type Write = (document: OpenApiDocument, base: string | undefined) => string
