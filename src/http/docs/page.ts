import type { OpenApiDocument, Operation, Parameter, Response, Schema } from '../openapi/document.ts'
import { described, type Html, html } from './html.ts'
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
  const [summary, ...chapters] = info.description.split('\n\n## ')
  const guide = chapters.map(chapter => {
    const [title = '', ...paragraphs] = chapter.split('\n\n')
    return { title, paragraphs }
  })
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
  ${guide.map(({ title }) => html`<a href="#${title.toLowerCase()}">${title}</a>`)}
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
  <p>${described(summary)}</p>
  <p>Base address: <code class="sample">BASE_URL</code></p>
</header>
${withForms && trySection(document)}
${guide.map(
  ({ title, paragraphs }) => html`
<section id="${title.toLowerCase()}">
  <h2>${title}</h2>
  ${paragraphs.map(paragraph => html`<p>${described(paragraph)}</p>`)}
</section>`,
)}
${operations.map(({ method, path, operation }) => operationSection(document, method, path, operation))}
${headersSection(document)}
${SCHEMAS.map(name => html`<section id="${name}"><h2>${name}</h2>${fieldTable(components.schemas[name])}</section>`)}
</main>
</body>
</html>
`.text
}

/** Everything about one operation. */
function operationSection(
  document: OpenApiDocument,
  method: string,
  path: string,
  operation: Operation,
): Html {
  const { operationId, summary, description, parameters = [], responses } = operation
  const body = Object.values(operation.requestBody?.content ?? {})[0]?.schema
  return html`
<section id="${operationId}">
  <h2>${summary}</h2>
  <p class="endpoint"><span class="method">${method.toUpperCase()}</span> <code>${path}</code></p>
  <p>${described(description)}</p>
  <pre class="sample">${operation['x-codeSamples'].map(({ source }) => source)}</pre>
  ${parameters.length > 0 && html`<h3>Parameters</h3>${parameterTable(parameters)}`}
  ${body && html`<h3>Body</h3><p>A form or JSON.</p>${fieldTable(document.components.schemas[nameOf(body)])}`}
  <h3>Answers</h3>
  ${Object.entries(responses).map(([status, response]) => responseBlock(status, response))}
</section>`
}

/** The headers of answers, each with an example. */
function headersSection({ components }: OpenApiDocument): Html {
  const rows = Object.entries(components.headers).map(
    ([name, { example, description }]) => html`
    <tr id="header-${name}"><th scope="row"><code>${name}</code></th><td><code>${example}</code></td><td>${described(description)}</td></tr>`,
  )
  return html`<section id="headers"><h2>Headers</h2>${table(['Name', 'Example', 'Meaning'], rows)}</section>`
}

function parameterTable(parameters: Parameter[]): Html {
  const rows = parameters.map(
    ({ name, schema, description }) => html`
    <tr><th scope="row"><code>${name}</code></th><td>${typeOf(schema)}</td><td>${described(description)}${
      schema.default !== undefined &&
      html` <span class="default">Default: <code>${String(schema.default)}</code></span>`
    }</td></tr>`,
  )
  return table(['Name', 'Type', 'Meaning'], rows)
}

function fieldTable(schema: Schema = {}): Html {
  return table(['Field', 'Type', 'Meaning'], fieldRows(schema, ''))
}

function fieldRows({ properties = {}, required = [] }: Schema, prefix: string): Html[] {
  return Object.entries(properties).flatMap(([name, schema]) => [
    html`
    <tr><th scope="row"><code>${prefix}${name}</code>${!required.includes(name) && html` <small>optional</small>`}</th><td>${typeOf(schema)}</td><td>${described(schema.description)}</td></tr>`,
    // An object without a name of its own shows its fields in place.
    ...fieldRows(schema.items ?? schema, `${prefix}${name}${schema.items ? '[]' : ''}.`),
  ])
}

function table(headings: string[], rows: Html[]): Html {
  return html`
  <table>
    <thead><tr>${headings.map(heading => html`<th scope="col">${heading}</th>`)}</tr></thead>
    <tbody>${rows}</tbody>
  </table>`
}

function responseBlock(status: string, { description, headers = {}, content }: Response): Html {
  const { schema, example, examples = {} } = content?.['application/json'] ?? {}
  const links = Object.keys(headers).map(
    (name, at) => html`${at > 0 && ', '}<a href="#header-${name}">${name}</a>`,
  )
  const values = example === undefined ? Object.values(examples).map(({ value }) => value) : [example]
  return html`
  <details class="answer"${status === '200' && html` open`}>
    <summary><span class="status s${status[0]}">${status}</span> ${described(description)}</summary>
    ${schema && html`<p>Body: ${typeOf(schema)}. Headers: ${links}.</p>`}
    ${values.map(value => html`<pre>${JSON.stringify(value, null, 2)}</pre>`)}
  </details>`
}

/** "array of integer", "one of ASC, DESC", "string or null", or a link to a named schema. */
function typeOf(schema: Schema): Html {
  if (schema.$ref) return html`<a href="#${nameOf(schema)}">${nameOf(schema)}</a>`
  if (schema.items) return html`array of ${typeOf(schema.items)}`
  if (schema.enum) return html`one of ${described(schema.enum.map(value => `\`${value}\``).join(', '))}`
  if (schema.const !== undefined) return html`<code>${String(schema.const)}</code>`
  if (schema.anyOf)
    return html`${schema.anyOf.map((choice, at) => html`${at > 0 && ' or '}${typeOf(choice)}`)}`
  return html`${schema.format === 'date' ? 'date' : schema.type}`
}

/** The name at the end of a reference. */
function nameOf({ $ref = '' }: Schema): string {
  return $ref.slice($ref.lastIndexOf('/') + 1)
}
