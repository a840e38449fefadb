import { within } from '../../within.ts'

/** One thing that has to be right before requests can be answered. */
export interface Check {
  name: string
  /** Resolves with what is wrong, in words that anybody may read, or with nothing. */
  run(): Promise<string | undefined>
  /** The name of a check that stands before it: while that one is wrong, this one says nothing. */
  after?: string
}

/** What became of a check; `detail` says what is wrong. */
export interface CheckResult {
  check: string
  status: 'ok' | 'wrong' | 'skipped'
  detail?: string
}

/** The body of /ready. */
export interface Readiness {
  ready: boolean
  checks: CheckResult[]
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
  return { ready: results.every(({ status }) => status === 'ok'), checks: results }
}

async function run({ name: check, run }: Check): Promise<CheckResult> {
  // Never the text of an error: a database's own may quote names, a driver's the whole URL.
  const wrong = run().catch(({ code, name }) => `failed (${code ?? name ?? 'unknown error'})`)
  const detail = await within(PATIENCE, wrong, `no answer within ${PATIENCE / 1000} seconds`)
  return detail === undefined ? { check, status: 'ok' } : { check, status: 'wrong', detail }
}
