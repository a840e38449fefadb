import { describe, expect, test } from 'bun:test'
import { countTests } from './junit.ts'

const report = (totals: string, ...files: string[]) =>
  `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="bun test" ${totals} assertions="9" time="0.1">
  ${files.map(file => `<testsuite name="${file}" file="${file}" tests="1"></testsuite>`).join('\n')}
</testsuites>`

describe('the counts of a test run', () => {
  test('are those of the report', () => {
    const xml = report('tests="10" failures="3" skipped="2"', 'test/a.test.ts')
    expect(countTests(xml, ['test/a.test.ts'], false)).toEqual({ passed: 5, failed: 3, skipped: 2 })
  })

  test('of a run without a report are one failure, whatever its exit code', () => {
    expect(countTests(null, [], true)).toEqual({ passed: 0, failed: 1, skipped: 0 })
    expect(countTests('', [], true)).toEqual({ passed: 0, failed: 1, skipped: 0 })
  })

  test('include a failure for every file that ran no test', () => {
    const xml = report('tests="4" failures="0" skipped="0"', 'test/a.test.ts')
    const files = ['test/a.test.ts', 'test/does-not-load.test.ts']
    expect(countTests(xml, files, false)).toEqual({ passed: 4, failed: 1, skipped: 0 })
  })

  test('are a failure when only the exit code tells of one', () => {
    const xml = report('tests="4" failures="0" skipped="0"', 'test/a.test.ts')
    expect(countTests(xml, ['test/a.test.ts'], false)).toEqual({ passed: 4, failed: 1, skipped: 0 })
  })

  test('are a failure when nothing ran', () => {
    expect(countTests(report('tests="0" failures="0" skipped="0"'), [], true)).toMatchObject({ failed: 1 })
    const skipped = report('tests="2" failures="0" skipped="2"', 'test/a.test.ts')
    expect(countTests(skipped, ['test/a.test.ts'], true)).toEqual({ passed: 0, failed: 1, skipped: 2 })
  })
})
