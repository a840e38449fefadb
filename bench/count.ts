// A minimal client in a separate process: reads a job from standard input, walks the list page by page, and counts
// records.
import type { CountJob } from './measures/pull.ts'

const { url, headers } = (await Bun.stdin.json()) as CountJob
let counted = 0
for (let total = 1; counted < total; ) {
  const answer = await fetch(`${url}?page=100&offset=${counted}`, { headers })
  if (answer.status !== 200) throw new Error(`HTTP ${answer.status}`)
  const { data, meta } = (await answer.json()) as { data: unknown[]; meta: { count: number } }
  counted += data.length
  total = data.length === 0 ? 0 : meta.count
}
console.log(counted)
