import { filled, type Html, html } from '../../html.ts'
import type { OpenApiDocument, Operation, Parameter, Response, Schema } from '../openapi/document.ts'
import page from './page.html.txt' with { type: 'text' }
import { block, codeSamples } from './samples.ts'
import forms from './try.html.txt' with { type: 'text' }

/**
 * The OpenAPI document as HTML. Addresses are relative, for proxies that add a path. Swagger UI 5.35 (1.9 MB) and Scalar
 * 1.46 (3.6 MB) are blank without script; this page and its files have 72 KB, and its policy needs no exception.
 */
export function docsPage(document: OpenApiDocument, withForms: boolean): string {
  const { info, paths, components } = document
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
  )
  const [summary, ...texts] = info.description.split('\n\n## ')
  const chapters = texts.map(text => {
    const [title = '', ...paragraphs] = text.split('\n\n')
    return { title, id: title.toLowerCase(), paragraphs }
  })
  // The fields of a token request stand in its operation.
  const schemas = Object.entries(components.schemas).filter(([name]) => name !== 'TokenRequest')
  const headerRows = Object.entries(components.headers).map(
    ([name, { example, description }]) => html`
    <tr id="header-${name}"><th scope="row"><code>${name}</code>${anchor(`header-${name}`)}</th><td><code>${example}</code></td><td>${described(description)}</td></tr>`,
  )
  return filled(page, {
    title: info.title,
    tryScript: withForms && html`\n<script type="module" src="docs/try.js"></script>`,
    tryLink: withForms && html`<a href="#try">Try it</a>`,
    chapterLinks: chapters.map(({ title, id }) => html`<a href="#${id}">${title}</a>`),
    operationLinks: operations.map(({ operationId: id, summary }) => html`<a href="#${id}">${summary}</a>`),
    schemaLinks: schemas.map(([name]) => html`<a class="schema" href="#${name}">${name}</a>`),
    summary: described(summary),
    timeZone:
      info['x-time-zone'] &&
      html`<p>Time zone of the platform, in which days begin and end: <code>${info['x-time-zone']}</code></p>`,
    tryForms: withForms && trySection(document),
    chapters: chapters.map(
      ({ title, id, paragraphs }) => html`
<section id="${id}">
  <h2>${title}${anchor(id)}</h2>
  ${paragraphs.map(paragraph => html`<p>${described(paragraph)}</p>`)}
</section>`,
    ),
    operations: operations.map(operation => operationSection(document, operation)),
    headersAnchor: anchor('headers'),
    headers: table(['Name', 'Example', 'Meaning'], headerRows),
    schemas: schemas.map(
      ([name, schema]) =>
        html`<section id="${name}"><h2>${name}${anchor(name)}</h2>${fieldTable(name, schema)}</section>`,
    ),
  }).text
}

function operationSection(
  { components }: OpenApiDocument,
  { path, method, ...operation }: Operation & { path: string; method: string },
): Html {
  const { operationId, summary, description, parameters = [], responses } = operation
  const body = Object.values(operation.requestBody?.content ?? {})[0]?.schema
  const rows = parameters.map(({ name, schema, description }) => {
    const preset =
      schema.default !== undefined &&
      html` <span class="default">Default: <code>${String(schema.default)}</code></span>`
    const id = idOf(operationId, name)
    return row(id, html`<code>${name}</code>`, schema, html`${described(description)}${preset}`)
  })
  return html`
<section id="${operationId}">
  <h2>${summary}${anchor(operationId)}</h2>
  <p class="endpoint"><span class="method">${method.toUpperCase()}</span> <code>${path}</code></p>
  <p>${described(description)}</p>
  ${codeSamples(operation['x-codeSamples'])}
  ${rows.length > 0 && html`<h3>Parameters</h3>${table(['Name', 'Type', 'Meaning'], rows)}`}
  ${body && html`<h3>Body</h3><p>A form or JSON.</p>${fieldTable(operationId, components.schemas[nameOf(body)])}`}
  <h3>Answers</h3>
  ${Object.entries(responses).map(([status, response]) => responseBlock(status, response))}
</section>`
}

const fieldTable = (within: string, schema: Schema = {}) =>
  table(['Field', 'Type', 'Meaning'], fieldRows(within, schema, ''))

function fieldRows(within: string, { properties = {}, required = [] }: Schema, prefix: string): Html[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const optional = !required.includes(name) && html` <small>optional</small>`
    const field = html`<code>${prefix}${name}</code>${optional}`
    return [
      row(idOf(within, prefix + name), field, schema, described(schema.description)),
      // An object without a name of its own shows its fields in place.
      ...fieldRows(within, schema.items ?? schema, `${prefix}${name}${schema.items ? '[]' : ''}.`),
    ]
  })
}

const row = (id: string, name: Html, schema: Schema, meaning: Html) => html`
    <tr id="${id}"><th scope="row">${name}${anchor(id)}</th><td>${typeOf(schema)}</td><td>${meaning}</td></tr>`

/** The id of a parameter or a field: `listAssessments-filter-seids`. */
const idOf = (within: string, name: string) => `${within}-${name.match(/\w+/g)?.join('-')}`

/** A link to the heading or row that it stands in, to copy. */
const anchor = (id: string) => html`<a class="anchor" href="#${id}" aria-label="Link to this">#</a>`

const table = (headings: string[], rows: Html[]) => html`
  <table>
    <thead><tr>${headings.map(heading => html`<th scope="col">${heading}</th>`)}</tr></thead>
    <tbody>${rows}</tbody>
  </table>`

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
    ${values.map(value => block(html`<pre>${JSON.stringify(value, null, 2)}</pre>`))}
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

function nameOf({ $ref = '' }: Schema): string {
  return $ref.slice($ref.lastIndexOf('/') + 1)
}

/** Forms that try.browser.js sends. The policy keeps the browser from sending them, with secrets in the address. */
function trySection(document: OpenApiDocument): Html {
  const list = document.paths['/api/v1/ax/assessments']?.get?.parameters ?? []
  const retrieve = document.paths['/api/v1/ax/assessments/{id}']?.get?.parameters ?? []
  const { filters = [], others = [] } = Object.groupBy(list, ({ name }) =>
    name.startsWith('filter') ? 'filters' : 'others',
  )
  const slots = { others: others.map(field), filters: filters.map(field), retrieve: retrieve.map(field) }
  return html`\n${filled(forms.trimEnd(), slots)}`
}

function field({ name, schema, description, required }: Parameter): Html {
  const label = html`<code>${name}</code>`
  const [hint] = /^.*?\.(?= |$)/.exec(description) ?? []
  const { items } = schema
  if (items?.enum || items?.type === 'boolean') {
    const boxes = (items.enum ?? ['true', 'false']).map(
      value =>
        html` <label class="box"><input type="checkbox" name="${name}" value="${value}"> ${value}</label>`,
    )
    return html`<fieldset><legend>${label}</legend>${boxes} <small>${hint}</small></fieldset>`
  }
  if (items) {
    return html`<label>${label} <textarea name="${name}" rows="2" placeholder="one a line" spellcheck="false"></textarea> <small>${hint}</small></label>`
  }
  if (schema.enum) {
    const options = schema.enum.map(
      value => html`<option${value === schema.default && html` selected`}>${value}</option>`,
    )
    return html`<label>${label} <select name="${name}">${options}</select></label>`
  }
  const kind = schema.format === 'date' ? 'date' : schema.type === 'integer' ? 'number' : 'text'
  return html`<label>${label} <input name="${name}" type="${kind}" placeholder="${schema.default as string}"${required && html` required`}> <small>${hint}</small></label>`
}

/** A description of the document: of its Markdown, backticks are all that we use. */
function described(text = ''): Html {
  return html`${text.split('`').map((part, at) => (at % 2 ? html`<code>${part}</code>` : part))}`
}
