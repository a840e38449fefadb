import type { Reader } from '../../postgres/standby/replicas.ts'
import { within } from '../../within.ts'

/** One thing that has to be right before requests can be answered. */
export interface Check {
  name: string
  /** Resolves with what is wrong, in words that anybody may read, or with nothing. */
  run(): Promise<string | undefined>
  /** What goes on all the same, when something is wrong; undefined when nothing does. */
  goesOn?(): string | undefined
  /** The name of a check that stands before it: while that one is wrong, this one says nothing. */
  after?: string
}

/** What became of a check; `detail` says what is wrong, or what is only half well. */
export interface CheckResult {
  check: string
  /** With a warning most requests are answered: a balancer that looked away would make it worse. */
  status: 'ok' | 'warning' | 'wrong' | 'skipped'
  detail?: string
}

/** The body of /ready. */
export interface Readiness {
  ready: boolean
  checks: CheckResult[]
  /** The servers that may be read from, where there are standbys among them. */
  readers?: Reader[]
}

/** Milliseconds for a check; who probes waits no longer, as a rule. */
const PATIENCE = 2000

/** Runs the checks one after the other: each may need what another has. One that throws or takes too long is wrong. */
export async function readinessOf(checks: Check[]): Promise<Readiness> {
  const results: CheckResult[] = []
  for (const check of checks) {
    const before = results.find(result => result.check === check.after)
    results.push(
      before && before.status !== 'ok' ? { check: check.name, status: 'skipped' } : await run(check),
    )
  }
  return { ready: isReady(results), checks: results }
}

/** Whether requests are to come. A check is skipped only behind one that is not well, and has its say. */
export function isReady(checks: CheckResult[]): boolean {
  return checks.every(({ status }) => status !== 'wrong')
}

async function run({ name: check, run, goesOn }: Check): Promise<CheckResult> {
  // Never the text of an error: a database's own may quote names, a driver's the whole URL.
  const wrong = run().catch(({ code, name }) => `failed (${code ?? name ?? 'unknown error'})`)
  const detail = await within(PATIENCE, wrong, `no answer within ${PATIENCE / 1000} seconds`)
  if (detail === undefined) return { check, status: 'ok' }
  const rest = goesOn?.()
  return rest === undefined
    ? { check, status: 'wrong', detail }
    : { check, status: 'warning', detail: `${detail}; ${rest}` }
}
