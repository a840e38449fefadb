/** How many tests ended how. */
export interface TestCounts {
  passed: number
  failed: number
  skipped: number
}

/**
 * The counts in a JUnit report of `bun test`. What the report leaves out is a failure too: no report at all, a test
 * file of `files` that ran no test (one that cannot be loaded is missing), an exit code that says more than the report.
 */
export function countTests(report: string | null, files: string[], exitedWithZero: boolean): TestCounts {
  const totals = report && /<testsuites\b([^>]*)>/.exec(report)?.[1]
  if (!totals) return { passed: 0, failed: 1, skipped: 0 }
  const reported = new Set([...report.matchAll(/<testsuite [^>]*\bfile="([^"]*)"/g)].map(match => match[1]))
  const silent = files.filter(file => !reported.has(file)).length
  const skipped = attribute(totals, 'skipped')
  const failures = attribute(totals, 'failures')
  const passed = attribute(totals, 'tests') - failures - skipped
  const failed = failures + silent
  const nothingRan = passed + failed === 0
  return { passed, failed: failed === 0 && (!exitedWithZero || nothingRan) ? 1 : failed, skipped }
}

function attribute(attributes: string, name: string): number {
  const value = Number(new RegExp(`\\b${name}="(\\d+)"`).exec(attributes)?.[1])
  if (!Number.isInteger(value)) throw new Error(`the test report has no number of ${name}`)
  return value
}
