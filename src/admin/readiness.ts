import type { ServingDatabase } from '../database/pool.ts'
import { singleFlight } from '../single-flight.ts'
import { within } from '../timeouts.ts'

/** A condition that requests need. */
export interface Check {
  name: string
  /** Resolves with what is wrong, without names and addresses, or with nothing. */
  run(): Promise<string | undefined>
  /** What the service still does while this is wrong; undefined for nothing. */
  goesOn?(): string | undefined
  /** The name of an earlier check: while that one is wrong, this one is skipped. */
  after?: string
}

/** The result of a check; `detail` says what is wrong, or what only works in part. */
export interface CheckResult {
  check: string
  /** With a warning most requests are answered; a load balancer that sent none would make it worse. */
  status: 'ok' | 'warning' | 'wrong' | 'skipped'
  detail?: string
}

/** The body of /ready. */
export interface Readiness {
  ready: boolean
  checks: CheckResult[]
}

/** For a check: probes usually wait no longer. */
const CHECK_TIMEOUT_MS = 2000

/** Runs the checks one after the other: they may need the same connection. One that throws or takes too long is wrong. */
export async function readinessOf(checks: Check[]): Promise<Readiness> {
  const results: CheckResult[] = []
  for (const check of checks) {
    const { status } = results.find(result => result.check === check.after) ?? { status: 'ok' }
    results.push(status === 'ok' ? await run(check) : { check: check.name, status: 'skipped' })
  }
  return { ready: isReady(results), checks: results }
}

/** Whether requests may be sent here. A skipped check follows one that is wrong or a warning, which decides. */
export const isReady = (checks: CheckResult[]) => checks.every(({ status }) => status !== 'wrong')

async function run({ name: check, run, goesOn }: Check): Promise<CheckResult> {
  // Never the text of an error: a database's own may quote names, a driver's the whole URL.
  const wrong = run().catch(({ code, name }) => `failed (${code ?? name ?? 'unknown error'})`)
  const detail = await within(CHECK_TIMEOUT_MS, wrong, `no answer within ${CHECK_TIMEOUT_MS / 1000} seconds`)
  if (detail === undefined) return { check, status: 'ok' }
  const rest = goesOn?.()
  return rest === undefined
    ? { check, status: 'wrong', detail }
    : { check, status: 'warning', detail: `${detail}; ${rest}` }
}

/** While all connections are in use, the last result: a probe must not wait for a connection as well. */
export function unlessBusy<Result>(database: ServingDatabase, read: () => Promise<Result | undefined>) {
  let last: Result | undefined
  const reread = singleFlight(async () => (last = await read()))
  return async () => (database.isBusy() ? last : await reread())
}
