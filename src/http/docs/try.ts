import type { OpenApiDocument, Parameter, Schema } from '../openapi/types.ts'
import { type Html, html } from './html.ts'

/**
 * The forms to try requests with. They do nothing by themselves: try.browser.js sends what they hold, and the
 * policy of the page lets no form be sent by the browser, which would put secrets into an address.
 */
export function trySection(document: OpenApiDocument): Html {
  const list = document.paths['/api/v1/ax/assessments']?.get?.parameters ?? []
  const retrieve = document.paths['/api/v1/ax/assessments/{id}']?.get?.parameters ?? []
  const { filters = [], others = [] } = Object.groupBy(list, ({ name }) =>
    name.startsWith('filter') ? 'filters' : 'others',
  )
  return html`
<section id="try">
  <h2>Try it</h2>
  <p>Requests go from this page to this service, and nowhere else. Credentials and token are kept in the memory
  of this page alone, and are gone when you leave it. The answers are real: they hold personal data.</p>
  <noscript><p class="problem">To try requests takes JavaScript. The reference below does not.</p></noscript>
  <form id="token-form" autocomplete="off">
    <h3>1. A token</h3>
    <div class="fields">
      <label>Client ID <input name="client_id" required autocomplete="off" spellcheck="false" autocapitalize="off"></label>
      <label>Client secret <input name="client_secret" type="password" required autocomplete="new-password"></label>
    </div>
    <p><button>Get a token</button> <output id="token-state"></output></p>
  </form>
  <form id="list-form" autocomplete="off">
    <h3>2. A list</h3>
    <div class="fields">${others.map(field)}</div>
    <details><summary>Filters</summary><div class="fields">${filters.map(field)}</div></details>
    <p><button>List assessments</button></p>
  </form>
  <form id="retrieve-form" autocomplete="off">
    <h3>3. One assessment</h3>
    <div class="fields">${retrieve.map(field)}</div>
    <p><button>Retrieve it</button></p>
  </form>
  <div id="result" hidden>
    <h3 id="result-status" role="status" tabindex="-1"></h3>
    <p><button id="next" type="button" hidden>Next page</button></p>
    <h4>Request</h4>
    <pre id="result-request"></pre>
    <h4>Headers of the answer</h4>
    <pre id="result-headers"></pre>
    <h4>Body of the answer</h4>
    <pre id="result-body" tabindex="0"></pre>
  </div>
</section>`
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
