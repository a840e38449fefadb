/** The numbers of tests by result. */
interface TestCounts {
  passed: number
  failed: number
  skipped: number
}

/**
 * The counts in a JUnit report of `bun test`. These count as failures, too: a missing report, a test file of `files`
 * that ran no test (the report leaves out files that cannot be loaded), and a failing exit code without a failed test.
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

/**
 * The reasons of skipped tests with their counts, the most frequent first. A reason is the text after `skipped:` in the
 * name of a test or of a group around it, such as `needs nginx, Debian package nginx`.
 */
export function skippedBecause(report: string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const [, attributes = ''] of report.matchAll(/<testcase ([^>]*[^/])>\s*<skipped\b/g)) {
    const reason = /\(skipped: ([^"]*?)\)(?:"| &gt; )/.exec(attributes)?.[1]
    const text = reason ? unescaped(reason) : 'no reason given'
    counts.set(text, (counts.get(text) ?? 0) + 1)
  }
  return new Map([...counts].sort(([, a], [, b]) => b - a))
}

function unescaped(text: string): string {
  const entities: Record<string, string> = { lt: '<', gt: '>', quot: '"', apos: "'", '#39': "'", amp: '&' }
  return text.replace(/&([a-z]+|#39);/g, (whole, name: string) => entities[name] ?? whole)
}

/** The test files of a report with their seconds. Suites of groups are left out: their time is part of their file's. */
export function secondsOfFiles(report: string): [file: string, seconds: number][] {
  return [...report.matchAll(/<testsuite ([^>]*)>/g)].flatMap(([, attributes = '']) => {
    const text = (name: string) => new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1]
    const file = text('file')
    return file && text('name') === file ? [[file, Number(text('time'))] as [string, number]] : []
  })
}
