import type { OpenApiDocument, Parameter } from '../openapi/document.ts'
import { filled, type Html, html } from './html.ts'
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
  const slots = {
    others: others.map(field),
    filters: filters.map(field),
    retrieve: retrieve.map(field),
  }
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
