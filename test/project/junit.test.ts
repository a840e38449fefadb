import { describe, expect, test } from 'bun:test'
import { countTests, secondsOfFiles, skippedBecause } from '../../scripts/junit.ts'

const report = (totals: string, ...files: string[]) =>
  `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="bun test" ${totals} assertions="9" time="0.1">
  ${files.map(file => `<testsuite name="${file}" file="${file}" tests="1"></testsuite>`).join('\n')}
</testsuites>`

describe('countTests()', () => {
  const A = 'test/a.test.ts'
  const four = report('tests="4" failures="0" skipped="0"', A)
  test.each<[string, string | null, string[], boolean, number[]]>([
    [
      'returns the counts of the report',
      report('tests="10" failures="3" skipped="2"', A),
      [A],
      false,
      [5, 3, 2],
    ],
    ['counts a missing report as one failure, even with exit code 0', null, [], true, [0, 1, 0]],
    ['counts an empty report as one failure', '', [], true, [0, 1, 0]],
    ['counts a failure for every file that ran no test', four, [A, 'test/no-load.test.ts'], false, [4, 1, 0]],
    ['counts one failure if only the exit code shows a failure', four, [A], false, [4, 1, 0]],
    ['counts one failure if no test ran', report('tests="0" failures="0" skipped="0"'), [], true, [0, 1, 0]],
    [
      'counts one failure if all tests were skipped',
      report('tests="2" failures="0" skipped="2"', A),
      [A],
      true,
      [0, 1, 2],
    ],
  ])('%s', (_, xml, files, isOk, [passed = 0, failed = 0, skipped = 0]) => {
    expect(countTests(xml, files, isOk)).toEqual({ passed, failed, skipped })
  })
})

describe('skippedBecause()', () => {
  const skipped = (name: string, classname = '') =>
    `<testcase name="${name}" classname="${classname}" time="0" file="a.test.ts"><skipped /></testcase>`

  test('reads the reasons from the names of tests and of the groups around them, the most frequent first', () => {
    const xml = [
      '<testcase name="runs" classname="" time="0.1" file="a.test.ts" />',
      skipped('completes (skipped: needs nginx, Debian package nginx)'),
      skipped('deep', 'inner &gt; in Ruby (skipped: needs Ruby&apos;s oauth2, Debian package ruby-oauth2)'),
      skipped('deeper', 'in Ruby (skipped: needs Ruby&apos;s oauth2, Debian package ruby-oauth2) &gt; outer'),
    ].join('\n')
    expect([...skippedBecause(xml)]).toEqual([
      ["needs Ruby's oauth2, Debian package ruby-oauth2", 2],
      ['needs nginx, Debian package nginx', 1],
    ])
  })

  test('counts skipped tests without a reason', () => {
    expect([...skippedBecause(skipped('does nothing (yet)'))]).toEqual([['no reason given', 1]])
  })

  test('returns no reasons if no test was skipped', () => {
    const failed = '<testcase name="fails (skipped: never)" classname=""><failure /></testcase>'
    expect(skippedBecause(failed).size).toBe(0)
  })
})

test('secondsOfFiles() has each file once, also a file with several groups', () => {
  const xml = `<testsuite name="test/a.test.ts" file="test/a.test.ts" tests="2" time="1.5">
    <testsuite name="a group" file="test/a.test.ts" tests="1" time="1.25" hostname="vm"></testsuite>
  </testsuite>`
  expect(secondsOfFiles(xml)).toEqual([['test/a.test.ts', 1.5]])
})
