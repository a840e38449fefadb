import guide from '../../../docs/integrate/guide.md' with { type: 'text' }
import { Html, html } from '../../html.ts'
import { type OpenApiDocument, type Operation, type Response, type Schema, zoned } from './document.ts'
import style from './page.css' with { type: 'text' }

/** The names of the languages of samples, in the order of their tabs. */
const LANGUAGES: Record<string, string> = {
  sh: 'curl',
  python: 'Python',
  ts: 'TypeScript',
  go: 'Go',
  csharp: 'C#',
}

/** What sets the base address for the samples, unless it is written in them. */
const SETTING = 'AXPORT_URL=https://export.example.org '

/** How the samples read the base address: in a shell as it is, elsewhere as an expression, which a string replaces. */
const BASE =
  /\$AXPORT_URL|process\.env\.AXPORT_URL|os\.environ\["AXPORT_URL"\]|os\.Getenv\("AXPORT_URL"\)|Env\("AXPORT_URL"\)/g

/** What the policy of the page allows: its own style, and nothing else. */
export const STYLE_HASH = `sha256-${new Bun.CryptoHasher('sha256').update(style).digest('base64')}`

/**
 * The OpenAPI document and the guide as one page without a script. Addresses are relative, for proxies that add a path.
 * Swagger UI 5.35 (1.9 MB) and Scalar 1.46 (3.6 MB) are blank without script, and hide from a search what was not opened.
 * @param base the base address as the reader sees it, if that is known
 */
export function docsPage({ info, paths, components }: OpenApiDocument, base: string | undefined): string {
  const timeZone = info['x-time-zone']
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
  )
  const { introduction, chapters } = readGuide(base, timeZone)
  const schemas = Object.entries(components.schemas)
  const headers = Object.entries(components.headers).map(([name, { example, description }]) =>
    row(`header-${name}`, html`<code>${name}</code>`, html`<code>${example}</code>`, marked(description)),
  )
  const link = (id: string, text: string) => html`<a href="#${id}">${text}</a>\n`
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${info.title}</title>
<link rel="icon" href="data:,">
<style>${new Html(style)}</style>
<nav aria-label="Contents">
<strong>${info.title}</strong>
<p>Guide</p>
${chapters.map(({ id, title }) => link(id, title))}
<p>Requests</p>
${operations.map(({ operationId, summary }) => link(operationId, summary))}
<p>Answers</p>
${link('headers', 'Headers')}${schemas.map(([name]) => link(name, name))}
<a href="openapi.json">openapi.json</a>
</nav>
<main>
<h1>${info.title}</h1>
<p>${info.summary}</p>
${new Html(introduction)}
<p>Base address: <code>${base ?? '$AXPORT_URL'}</code>, the address of this page without <code>/docs</code></p>
${timeZone && html`<p>Time zone of the platform, in which days begin and end: <code>${timeZone}</code></p>`}
${chapters.map(({ text }) => new Html(text))}
${operations.map(operation => operationSection(components.schemas, operation))}
${heading('headers', 'Headers')}${table(['Name', 'Example', 'Meaning'], headers)}
${schemas.map(([name, schema]) => html`${heading(name, name)}${fieldTable(name, schema)}`)}
</main>
</html>
`.text
}

/** A line that links to other pages of the documents, which are not on this one. */
const LINKS = /^.*\]\([\w./]+\.md\).*$/gm

/** The guide in HTML. Its title is that of the page. */
function readGuide(base: string | undefined, timeZone: string | undefined) {
  const address = (written: string) => (written.startsWith('$') ? base : JSON.stringify(base)) ?? written
  const written = base === undefined ? guide : guide.replace(SETTING, '')
  const text = zoned(written, timeZone).replace(/^# .*/, '').replaceAll(LINKS, '').replaceAll(BASE, address)
  const [introduction = '', ...parts] = text.split(/^## /m)
  const chapters = parts.map(part => {
    const [title = ''] = part.split('\n', 1)
    const id = title.toLowerCase().replaceAll(/\W+/g, '-')
    const body = markdown(part.slice(title.length)).replaceAll(SAMPLES, samples => tabs(id, samples))
    return { id, title, text: heading(id, title).text + body }
  })
  return { introduction: markdown(introduction), chapters }
}

/** Text in HTML. A block that may scroll can be reached by the keyboard, which scrolls it. */
const markdown = (text: string) =>
  Bun.markdown.html(text, { tables: true }).replaceAll('<pre>', '<pre tabindex="0">')

/** Two or more samples that follow each other. */
const SAMPLES = /(?:<pre tabindex="0"><code class="language-[^"]+">[^<]*<\/code><\/pre>\s*){2,}/g

/** Samples that follow each other, as tabs of CSS: without that, they follow each other. */
function tabs(group: string, samples: string): string {
  const panels = [
    ...samples.matchAll(/<pre tabindex="0"><code class="language-([^"]+)">[^<]*<\/code><\/pre>/g),
  ].map(
    ([pre, language = ''], at) => html`
<input type="radio" name="${group}" id="${group}-${language}"${at === 0 && html` checked`}><label for="${group}-${language}">${LANGUAGES[language]}</label>
${new Html(pre)}`,
  )
  return html`<div class="tabs">${panels}\n</div>\n`.text
}

function operationSection(
  schemas: Record<string, Schema>,
  operation: Operation & { path: string; method: string },
): Html {
  const {
    path,
    method,
    operationId,
    summary,
    description,
    parameters = [],
    requestBody,
    responses,
  } = operation
  // The first paragraph says what the operation does; the others are about its parameters.
  const [purpose = '', ...notes] = description.split('\n\n')
  const body = Object.values(requestBody?.content ?? {})[0]?.schema
  const rows = parameters.map(({ name, schema, description, example }) =>
    row(
      idOf(operationId, name),
      html`<code>${name}</code>`,
      typeOf(schema),
      html`${marked(description)} ${presetOf(schema)} ${exampleOf(example)}`,
    ),
  )
  return html`
${heading(operationId, summary)}
<p><strong>${method.toUpperCase()}</strong> <code>${path}</code></p>
<p>${marked(purpose)}</p>
${rows.length > 0 && html`<h3>Parameters</h3>${new Html(markdown(notes.join('\n\n')))}${table(['Name', 'Type', 'Meaning'], rows)}`}
${body && html`<h3>Body</h3><p>A form or JSON.</p>${fieldTable(operationId, schemas[nameOf(body)])}`}
<h3>Answers</h3>
${Object.entries(responses).map(([status, response]) => responseBlock(status, response))}`
}

const presetOf = ({ default: preset }: Schema) =>
  preset !== undefined && html`<small>Default: <code>${String(preset)}</code>.</small>`

const exampleOf = (example: unknown) =>
  example !== undefined && html`<small>Example: <code>${[example].flat().join(', ')}</code></small>`

const fieldTable = (within: string, schema: Schema = {}) =>
  table(['Field', 'Type', 'Meaning'], fieldRows(within, schema, ''))

function fieldRows(within: string, { properties = {}, required = [] }: Schema, prefix: string): Html[] {
  return Object.entries(properties).flatMap(([name, schema]) => [
    row(
      idOf(within, prefix + name),
      html`<code>${prefix}${name}</code>${!required.includes(name) && html` <small>optional</small>`}`,
      typeOf(schema),
      marked(schema.description),
    ),
    // An object without a name of its own shows its fields in place.
    ...fieldRows(within, schema.items ?? schema, `${prefix}${name}${schema.items ? '[]' : ''}.`),
  ])
}

const row = (id: string, name: Html, type: Html, meaning: Html) => html`
<tr id="${id}"><th scope="row">${name}${anchor(id)}</th><td>${type}</td><td>${meaning}</td></tr>`

const heading = (id: string, title: string) => html`<h2 id="${id}">${title}${anchor(id)}</h2>\n`

/** A link to the heading or row that it stands in, to copy. */
const anchor = (id: string) => html`<a class="anchor" href="#${id}" aria-label="Link to this">#</a>`

/** The id of a parameter or a field: `listAssessments-filter-seids`. */
const idOf = (within: string, name: string) => `${within}-${name.match(/\w+/g)?.join('-')}`

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
<details${status === '200' && html` open`}>
<summary><strong>${status}</strong> ${marked(description)}</summary>
${schema && html`<p>Body: ${typeOf(schema)}. Headers: ${links}.</p>`}
${values.map(value => html`<pre tabindex="0">${JSON.stringify(value, null, 2)}</pre>`)}
</details>`
}

/** "array of integer", "one of ASC, DESC", "string or null", or a link to a named schema. */
function typeOf(schema: Schema): Html {
  const { $ref, items, enum: values, const: only, anyOf, format, type } = schema
  if ($ref) return html`<a href="#${nameOf(schema)}">${nameOf(schema)}</a>`
  if (items) return html`array of ${typeOf(items)}`
  if (values) return html`one of ${marked(values.map(value => `\`${value}\``).join(', '))}`
  if (only !== undefined) return html`<code>${String(only)}</code>`
  if (anyOf) return html`${anyOf.map((choice, at) => html`${at > 0 && ' or '}${typeOf(choice)}`)}`
  return html`${format === 'date' ? 'date' : type}`
}

const nameOf = ({ $ref = '' }: Schema): string => $ref.slice($ref.lastIndexOf('/') + 1)

/** A description of the document: of its Markdown, backticks are all that we use. */
const marked = (text = ''): Html =>
  html`${text.split('`').map((part, at) => (at % 2 ? html`<code>${part}</code>` : part))}`
