// The load in a separate process: reads jobs from standard input, runs them at the same time, and prints the outcomes.
import { Connection } from './connection.ts'
import type { Job, Outcome } from './job.ts'

const jobs = (await Bun.stdin.json()) as Job[]
// All connections are open before the first request: thousands of them take a second.
const opened = await Promise.all(
  jobs.map(job => Promise.all(Array.from({ length: job.connections }, () => open(job)))),
)
const outcomes = await Promise.all(jobs.map((job, at) => run(job, opened[at] ?? [])))
console.log(JSON.stringify(outcomes))
process.exit(0)

function open({ url }: Job): Promise<Connection> {
  const { hostname, port } = new URL(url)
  return Connection.open(hostname, Number(port))
}

async function run(job: Job, connections: Connection[]): Promise<Outcome> {
  const { hostname } = new URL(job.url)
  const requests = job.paths.map(path => Buffer.from(requestText(job, path, hostname)))
  const latencies: number[] = []
  const outcome = { requests: 0, seconds: 0, bytes: 0, latencies }

  let next = 0
  const start = performance.now()
  /** When the last answer came that counts. */
  let last = start
  const deadline = job.seconds === undefined ? Number.POSITIVE_INFINITY : start + job.seconds * 1000
  const end = job.seconds === undefined ? requests.length : Number.POSITIVE_INFINITY

  /** Sends requests from the job's queue, one after the other, until the queue is empty or the time is over. */
  const work = async (opened: Connection) => {
    let connection = opened
    while (next < end) {
      const at = next++
      const sent = performance.now()
      if (sent >= deadline) break
      const sending = connection.send(requests[at % requests.length] as Buffer)
      const answer = job.isRude ? await sending.catch(() => undefined) : await sending
      if (answer === undefined) connection = await open(job)
      if (job.isRude && answer?.status !== 200) continue
      if (answer === undefined) break
      last = performance.now()
      latencies[at] = last - sent
      if (answer.status !== 200)
        throw new Error(`HTTP ${answer.status} to ${job.paths[at % requests.length]}`)
      outcome.requests++
      outcome.bytes += answer.bytes
    }
    connection.close()
  }

  await Promise.all(connections.map(work))
  outcome.seconds = ((outcome.requests > 0 ? last : performance.now()) - start) / 1000
  return outcome
}

function requestText({ method = 'GET', headers, body }: Job, path: string, hostname: string): string {
  const all = { host: hostname, ...headers, ...(body && { 'content-length': String(body.length) }) }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`
}
