import { join } from 'node:path'
import { runProgram } from './program.ts'

/** A job of the load process: every path once, or all paths over and over for `seconds`. */
export interface Job {
  url: string
  connections: number
  paths: string[]
  seconds?: number
  method?: 'GET' | 'POST'
  headers?: Record<string, string>
  /** Whether refused requests are repeated at once, as by a client without manners; they do not count. */
  isRude?: boolean
  body?: string
}

/** The outcome of a job. Any status but 200 is an error. */
export interface Outcome {
  requests: number
  /** Until the last of these requests was answered. */
  seconds: number
  /** The bytes of all bodies as received. */
  bytes: number
  /** The milliseconds of each request, in the order of the requests. */
  latencies: number[]
}

/** Runs jobs at the same time in one separate process. The outcomes are in the order of the jobs. */
export async function runLoads(jobs: Job[]): Promise<Outcome[]> {
  const command = [process.execPath, join(import.meta.dir, 'load.ts')]
  return JSON.parse((await runProgram(command, { stdin: JSON.stringify(jobs) })).stdout)
}
