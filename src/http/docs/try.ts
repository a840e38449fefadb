import type { OpenApiDocument, Parameter, Schema } from '../openapi/document.ts'
import { Html, html } from './html.ts'
import forms from './try.html.txt' with { type: 'text' }

/**
 * The forms to try requests with. try.browser.js sends their fields; the policy of the page keeps the browser from sending
 * a form by itself, which would put secrets into an address.
 */
export function trySection(document: OpenApiDocument): Html {
  const list = document.paths['/api/v1/ax/assessments']?.get?.parameters ?? []
  const retrieve = document.paths['/api/v1/ax/assessments/{id}']?.get?.parameters ?? []
  const { filters = [], others = [] } = Object.groupBy(list, ({ name }) =>
    name.startsWith('filter') ? 'filters' : 'others',
  )
  const fields: Record<string, Html[]> = {
    others: others.map(field),
    filters: filters.map(field),
    retrieve: retrieve.map(field),
  }
  const filled = forms.trimEnd().replaceAll(/\{\{(\w+)\}\}/g, (_, slot) => html`${fields[slot]}`.text)
  return html`\n${new Html(filled)}`
}

function field({ name, schema, description, required }: Parameter): Html {
  const label = html`<code>${name}</code>`
  const [hint] = /^.*?\.(?= |$)/.exec(description) ?? []
  const { items } = schema
  if (items?.enum || items?.type === 'boolean') {
    return html`<fieldset><legend>${label}</legend>${boxes(name, items.enum ?? ['true', 'false'])} <small>${hint}</small></fieldset>`
  }
  if (items) {
    return html`<label>${label} <textarea name="${name}" rows="2" placeholder="one a line" spellcheck="false"></textarea> <small>${hint}</small></label>`
  }
  if (schema.enum) return html`<label>${label} ${choice(name, schema)}</label>`
  const kind = schema.format === 'date' ? 'date' : schema.type === 'integer' ? 'number' : 'text'
  return html`<label>${label} <input name="${name}" type="${kind}" placeholder="${schema.default as string}"${required && html` required`}> <small>${hint}</small></label>`
}

function choice(name: string, { enum: values = [], default: preset }: Schema): Html {
  const options = values.map(value => html`<option${value === preset && html` selected`}>${value}</option>`)
  return html`<select name="${name}">${options}</select>`
}

function boxes(name: string, values: string[]): Html[] {
  return values.map(
    value =>
      html` <label class="box"><input type="checkbox" name="${name}" value="${value}"> ${value}</label>`,
  )
}
