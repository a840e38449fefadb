import { readdirSync, readFileSync } from 'node:fs'
import type { Answer } from '../chaos/support/answer.ts'
import { Load } from '../chaos/support/load.ts'

/** What was seen in one stretch of time. */
export interface Sample {
  minute: number
  /** MB of resident memory, open files and sockets: of all the service's processes together. */
  memory: number
  handles: number
  /** The service's connections to the database. */
  connections: number
  requests: number
  /** Milliseconds, of list requests. */
  median: number
  p95: number
  p99: number
}

/** A load that remembers how long lists took. */
export class TimedLoad extends Load {
  requests = 0
  #lists: number[] = []

  override answered(answer: Answer): void {
    super.answered(answer)
    this.requests++
    if (answer.kind === 'list') this.#lists.push(answer.receivedAt - answer.sentAt)
  }

  /** What was since the last call. */
  take(): { requests: number; median: number; p95: number; p99: number } {
    const sorted = this.#lists.sort((a, b) => a - b)
    const quantile = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
    const taken = { requests: this.requests, median: quantile(0.5), p95: quantile(0.95), p99: quantile(0.99) }
    this.requests = 0
    this.#lists = []
    return taken
  }
}

/** A process and those that it has started (Linux only). */
function family(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  return [pid, ...children.flatMap(child => family(Number(child)))]
}

/** MB of resident memory and open handles of a process and those that it has started. */
export function usage(pid: number): { memory: number; handles: number } {
  let memory = 0
  let handles = 0
  for (const one of family(pid)) {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${one}/status`, 'utf8')) ?? []
    memory += Number(kilobytes) / 1024
    handles += readdirSync(`/proc/${one}/fd`).length
  }
  return { memory, handles }
}
