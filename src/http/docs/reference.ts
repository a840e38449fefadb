import type { OpenApiDocument, Operation, Parameter, Response, Schema } from '../openapi/types.ts'
import { described, type Html, html } from './html.ts'

/** Everything about one operation. */
export function operationSection(
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

/** A schema of the document with its fields. */
export function schemaSection(name: string, schema: Schema | undefined): Html {
  return html`<section id="${name}"><h2>${name}</h2>${fieldTable(schema)}</section>`
}

/** The headers of answers, each with an example. */
export function headersSection({ components }: OpenApiDocument): Html {
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
  const values = example === undefined ? Object.values(examples).map(({ value }) => value) : [example]
  return html`
  <details class="answer"${status === '200' && html` open`}>
    <summary><span class="status s${status[0]}">${status}</span> ${described(description)}</summary>
    ${schema && html`<p>Body: ${typeOf(schema)}. Headers: ${headerList(Object.keys(headers))}.</p>`}
    ${values.map(value => html`<pre>${JSON.stringify(value, null, 2)}</pre>`)}
  </details>`
}

function headerList(names: string[]): Html[] {
  return names.map((name, at) => html`${at > 0 && ', '}<a href="#header-${name}">${name}</a>`)
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
