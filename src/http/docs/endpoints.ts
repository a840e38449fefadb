import { COMPRESSIBLE } from '../../answers.ts'
import type { Endpoint, Limits } from '../endpoint.ts'
import type { ToAnswer } from '../errors.ts'
import type { OpenApiDocument } from '../openapi/types.ts'
import script from './page.browser.js' with { type: 'text' }
import style from './page.css' with { type: 'text' }
import { docsPage } from './page.ts'
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

/**
 * GET /openapi.json, /docs and the files of that page. Credentials do not belong in browsers (spec 5, rule 7): the forms
 * that take them are for a demo, and for operators who turn them on.
 */
export function docsEndpoints(
  { docs }: Limits,
  makeDocument: () => OpenApiDocument,
  refuseOverload: () => void,
  toAnswer: ToAnswer,
): Endpoint[] {
  const withForms = docs === 'try'
  const pageHeaders = {
    ...HEADERS,
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    // The forms send requests, to this service alone.
    'content-security-policy': withForms ? `${POLICY}; connect-src 'self'` : POLICY,
  }
  const document = once(makeDocument)
  const page = once(() => docsPage(document(), withForms))
  const json = once(() => JSON.stringify(document()))
  const endpoint = (path: string, headers: Record<string, string>, text: () => string): Endpoint => ({
    path,
    method: 'GET',
    toAnswer,
    answer() {
      refuseOverload()
      return { status: 200, headers, body: text() }
    },
  })
  const file = (path: string, type: string, text: () => string) =>
    endpoint(path, { ...pageHeaders, 'content-type': `${type}; charset=utf-8` }, text)
  const pages = [
    file('/docs', 'text/html', page),
    file('/docs/page.css', 'text/css', () => style + (withForms ? tryStyle : '') + widths),
    file('/docs/page.js', 'text/javascript', () => script),
    ...(withForms ? [file('/docs/try.js', 'text/javascript', () => tryScript)] : []),
  ]
  return [endpoint('/openapi.json', HEADERS, json), ...(docs === 'off' ? [] : pages)]
}

/** Makes a value when it is first read, and keeps it. */
function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
