import { readdirSync, readFileSync } from 'node:fs'
import type { Answer } from '../chaos/support/answer.ts'
import { Load } from '../chaos/support/load.ts'

/** The measurements of one interval. */
export interface Sample {
  minute: number
  /** MB of resident memory. */
  memory: number
  handles: number
  /** The number of the service's connections to the database. */
  connections: number
  requests: number
  /** Milliseconds of list requests. */
  median: number
  p95: number
  p99: number
}

/** A load that records the durations of list requests. */
export class TimedLoad extends Load {
  requests = 0
  #lists: number[] = []

  override answered(answer: Answer): void {
    super.answered(answer)
    this.requests++
    if (answer.kind === 'list') this.#lists.push(answer.receivedAt - answer.sentAt)
  }

  /** The measurements since the last call. */
  take(): { requests: number; median: number; p95: number; p99: number } {
    const sorted = this.#lists.sort((a, b) => a - b)
    const quantile = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
    const taken = { requests: this.requests, median: quantile(0.5), p95: quantile(0.95), p99: quantile(0.99) }
    this.requests = 0
    this.#lists = []
    return taken
  }
}

/** The MB of resident memory and the open handles of a process (Linux only). */
export function usage(pid: number): { memory: number; handles: number } {
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return { memory: Number(kilobytes) / 1024, handles: readdirSync(`/proc/${pid}/fd`).length }
}
