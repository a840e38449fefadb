import { GUIDE, SUMMARY } from '../openapi/guide.ts'
import { described, html } from './html.ts'
import { headersSection, operationSection, schemaSection } from './reference.ts'
import type { ShownDocument } from './shown.ts'
import { trySection } from './try.ts'

/** Schemas that are shown with the operation that takes or gives them, or are plain from their examples. */
const SHOWN = ['AssessmentList', 'AssessmentRecord', 'ResultPart', 'TokenResponse', 'ApiError', 'OAuthError']

/**
 * The reference page: the document as HTML, and with forms that send requests where it `isTried`. Addresses are
 * relative, for proxies that put a path in front.
 *
 * Made by hand: the known viewers bring 1.9 MB (Swagger UI 5.35) or 3.6 MB (Scalar 1.46) of script and style, and
 * are blank without script. This one and its files have 48 KB, under a policy that needs no exception.
 */
export function docsPage(document: ShownDocument, isTried: boolean): string {
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
    isTried &&
    html`
<script type="module" src="docs/try.js"></script>`
  }
</head>
<body>
<nav aria-label="Contents">
  <strong>${info.title}</strong>
  ${isTried && html`<a href="#try">Try it</a>`}
  <span>Guide</span>
  ${GUIDE.map(({ title }) => html`<a href="#${title.toLowerCase()}">${title}</a>`)}
  <span>Requests</span>
  ${operations.map(({ operation }) => html`<a href="#${operation.operationId}">${operation.summary}</a>`)}
  <span>Answers</span>
  <a href="#headers">Headers</a>
  ${SHOWN.map(name => html`<a class="schema" href="#${name}">${name}</a>`)}
  <a href="openapi.json">openapi.json</a>
</nav>
<main>
<header>
  <h1>${info.title}</h1>
  <p>${described(SUMMARY)}</p>
  <p>Base address: <code class="sample">BASE_URL</code></p>
</header>
${isTried && trySection(document)}
${GUIDE.map(
  ({ title, paragraphs }) => html`
<section id="${title.toLowerCase()}">
  <h2>${title}</h2>
  ${paragraphs.map(paragraph => html`<p>${described(paragraph)}</p>`)}
</section>`,
)}
${operations.map(({ method, path, operation }) => operationSection(document, method, path, operation))}
${headersSection(document)}
${SHOWN.map(name => schemaSection(name, components.schemas[name]))}
</main>
</body>
</html>
`.text
}
