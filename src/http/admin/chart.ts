import { type Html, html } from '../../html.ts'
import type { Minute } from './minutes.ts'

/** In units of the viewBox. */
const STEP = 10
const HEIGHT = 100

/** Requests a minute as bars: answered, refused (4xx) and failed (5xx) on top of each other, failed at the bottom. */
export function chart(minutes: Minute[]): Html {
  const highest = Math.max(0, ...minutes.map(({ answered, refused, failed }) => answered + refused + failed))
  const width = minutes.length * STEP
  const bars = minutes.map(({ answered, refused, failed }, at) => {
    let top = HEIGHT
    return (
      [
        ['failed', failed],
        ['refused', refused],
        ['answered', answered],
      ] as const
    ).map(([kind, count]) => {
      if (count === 0) return null
      // One failure among thousands has to be seen.
      const height = Math.max(2, (count / highest) * HEIGHT)
      top -= height
      return html`<rect class="${kind}" x="${at * STEP + 1}" y="${top.toFixed(1)}" width="${STEP - 2}" height="${height.toFixed(1)}"/>`
    })
  })
  const total = (kind: 'answered' | 'refused' | 'failed') =>
    minutes.reduce((sum, minute) => sum + minute[kind], 0).toLocaleString('en-US')
  const label = `${total('answered')} requests answered, ${total('refused')} refused and ${total('failed')} failed in the last hour`
  return html`
<svg viewBox="0 -10 ${width} ${HEIGHT + 10}" role="img" aria-label="${label}" preserveAspectRatio="none">
<line class="axis" x1="0" y1="${HEIGHT}" x2="${width}" y2="${HEIGHT}"/>${bars}
</svg>
<p class="scale"><span>an hour ago</span><span>highest: ${highest.toLocaleString('en-US')} a minute</span><span>now</span></p>
<ul class="legend">
<li><i class="answered"></i>${total('answered')} answered</li>
<li><i class="refused"></i>${total('refused')} refused (4xx)</li>
<li><i class="failed"></i>${total('failed')} failed (5xx)</li>
</ul>`
}
