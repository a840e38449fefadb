import { join } from 'node:path'
import { runProgram } from './program.ts'

/** What the load process has to do: every path once, or all of them over and over for `seconds`. */
export interface Job {
  url: string
  connections: number
  paths: string[]
  seconds?: number
  method?: 'GET' | 'POST'
  headers?: Record<string, string>
  body?: string
}

/** What came of it; any answer but 200 is an error. */
export interface Outcome {
  requests: number
  seconds: number
  /** Of all bodies, as they came over the wire. */
  bytes: number
  /** Milliseconds, in the order of the requests. */
  latencies: number[]
  /** Seconds of processor time that the load itself took. */
  cpu: number
}

/** Runs a job in a process of its own. */
export async function runLoad(job: Job): Promise<Outcome> {
  const command = [process.execPath, join(import.meta.dir, 'load.ts')]
  return JSON.parse((await runProgram(command, { stdin: JSON.stringify(job) })).stdout)
}
