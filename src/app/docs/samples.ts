import { type Html, html } from '../../html.ts'
import type { CodeSample } from '../openapi/document.ts'

/** How the samples write the base address: in a shell as it is, elsewhere as an expression, which a string replaces. */
const BASE = /(\$AXPORT_URL|process\.env\.AXPORT_URL|os\.environ\["AXPORT_URL"\]|os\.Getenv\("AXPORT_URL"\))/

/** The samples of an operation, one below the other; page.browser.js makes tabs of them. */
export function codeSamples(samples: CodeSample[]): Html {
  const panels = samples.map(
    ({ label, source }, at) => html`
    <details class="panel"${at === 0 && html` open`}>
      <summary>${label}</summary>
      ${block(html`<pre class="sample ${label}">${source.split(BASE).map(withAddress)}</pre>`)}
    </details>`,
  )
  return html`<div class="samples">${panels}
  </div>`
}

/** A `pre` with room for the button that copies it. */
export const block = (pre: Html): Html => html`<div class="block">${pre}</div>`

/** Every second text is the base address, which page.browser.js fills in. */
function withAddress(text: string, at: number): string | Html {
  if (at % 2 === 0) return text
  return html`<span class="base"${!text.startsWith('$') && html` data-quoted`}>${text}</span>`
}
