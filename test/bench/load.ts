// The load in a separate process: reads a job from standard input, and prints the outcome.
import { Connection } from './connection.ts'
import type { Job, Outcome } from './job.ts'

const job = (await Bun.stdin.json()) as Job
const { hostname, port } = new URL(job.url)
const requests = job.paths.map(path => Buffer.from(requestText(job, path)))
const latencies: number[] = []
const outcome: Outcome = { requests: 0, seconds: 0, bytes: 0, latencies, cpu: 0 }

let next = 0
const start = performance.now()
const deadline = job.seconds === undefined ? Number.POSITIVE_INFINITY : start + job.seconds * 1000
const end = job.seconds === undefined ? requests.length : Number.POSITIVE_INFINITY

/** Sends requests from the common queue, one after the other, until the queue is empty or the time is over. */
async function work(): Promise<void> {
  const connection = await Connection.open(hostname, Number(port))
  while (next < end) {
    const at = next++
    const sent = performance.now()
    if (sent >= deadline) break
    const answer = await connection.send(requests[at % requests.length] as Buffer)
    latencies[at] = performance.now() - sent
    if (answer.status !== 200) throw new Error(`HTTP ${answer.status} to ${job.paths[at % requests.length]}`)
    outcome.requests++
    outcome.bytes += answer.bytes
  }
  connection.close()
}

await Promise.all(Array.from({ length: job.connections }, work))
outcome.seconds = (performance.now() - start) / 1000
outcome.cpu = process.cpuUsage().user / 1e6 + process.cpuUsage().system / 1e6
console.log(JSON.stringify(outcome))
process.exit(0)

function requestText({ method = 'GET', headers, body }: Job, path: string): string {
  const all = { host: hostname, ...headers, ...(body && { 'content-length': String(body.length) }) }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`
}
