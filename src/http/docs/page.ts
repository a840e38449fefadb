import { GUIDE, SUMMARY } from '../openapi/guide.ts'
import type { OpenApiDocument } from '../openapi/types.ts'
import { described, html } from './html.ts'
import { headersSection, operationSection, schemaSection } from './reference.ts'
import { trySection } from './try.ts'

/** The schemas with a section of their own. The fields of a token request stand in its operation. */
const SCHEMAS = [
  'AssessmentList',
  'AssessmentRecord',
  'ResultPart',
  'TokenResponse',
  'ApiError',
  'OAuthError',
]

/**
 * The reference page: the OpenAPI document as HTML, on request with forms that send requests. Addresses are relative, for
 * proxies that add a path. Swagger UI 5.35 would bring 1.9 MB of script and style, Scalar 1.46 3.6 MB, and both are blank
 * without script; this page and its files have 48 KB, under a policy that needs no exception.
 */
export function docsPage(document: OpenApiDocument, withForms: boolean): string {
  const { info, paths, components } = document
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${info.title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/page.css">
<script type="module" src="docs/page.js"></script>${
    withForms &&
    html`
<script type="module" src="docs/try.js"></script>`
  }
</head>
<body>
<nav aria-label="Contents">
  <strong>${info.title}</strong>
  ${withForms && html`<a href="#try">Try it</a>`}
  <span>Guide</span>
  ${GUIDE.map(({ title }) => html`<a href="#${title.toLowerCase()}">${title}</a>`)}
  <span>Requests</span>
  ${operations.map(({ operation }) => html`<a href="#${operation.operationId}">${operation.summary}</a>`)}
  <span>Answers</span>
  <a href="#headers">Headers</a>
  ${SCHEMAS.map(name => html`<a class="schema" href="#${name}">${name}</a>`)}
  <a href="openapi.json">openapi.json</a>
</nav>
<main>
<header>
  <h1>${info.title}</h1>
  <p>${described(SUMMARY)}</p>
  <p>Base address: <code class="sample">BASE_URL</code></p>
</header>
${withForms && trySection(document)}
${GUIDE.map(
  ({ title, paragraphs }) => html`
<section id="${title.toLowerCase()}">
  <h2>${title}</h2>
  ${paragraphs.map(paragraph => html`<p>${described(paragraph)}</p>`)}
</section>`,
)}
${operations.map(({ method, path, operation }) => operationSection(document, method, path, operation))}
${headersSection(document)}
${SCHEMAS.map(name => schemaSection(name, components.schemas[name]))}
</main>
</body>
</html>
`.text
}
