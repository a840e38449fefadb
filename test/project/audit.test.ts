import { describe, expect, test } from 'bun:test'
import { readAudit } from '../../scripts/audit.ts'

/** An advisory in the format of npm's registry. */
const advisory = (severity: string) => ({
  id: 1094500,
  url: 'https://github.com/advisories/GHSA-hrpp-h998-j3pp',
  title: 'qs vulnerable to Prototype Pollution',
  severity,
  vulnerable_versions: '<6.2.4',
  cwe: ['CWE-1321'],
  cvss: { score: 7.5, vectorString: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:H' },
})

const line = (severity: string) =>
  `qs: ${severity}: qs vulnerable to Prototype Pollution (https://github.com/advisories/GHSA-hrpp-h998-j3pp)`

const audit = (...severities: string[]) => readAudit(JSON.stringify({ qs: severities.map(advisory) }))

describe('readAudit()', () => {
  test.each([
    ...['moderate', 'high', 'critical', 'unheard of'].map(severity => [severity, 'grave']),
    ...['low', 'info'].map(severity => [severity, 'minor']),
  ])('counts an advisory of severity %s as %s', (severity = '', kind = '') => {
    expect(audit(severity)).toEqual({ grave: [], minor: [], [kind]: [line(severity)] })
  })

  test('returns every advisory of every package', () => {
    const answer = { qs: [advisory('low'), advisory('high')], postgres: [advisory('critical')] }
    const found = readAudit(JSON.stringify(answer))
    expect(found?.grave).toHaveLength(2)
    expect(found?.minor).toHaveLength(1)
  })

  test('returns no finding if the registry has no advisory', () => {
    expect(readAudit('{}\n')).toEqual({ grave: [], minor: [] })
  })

  test.each(['', 'error: POST https://registry - 405', '<html></html>', 'null', '[]', '{"error":"nope"}'])(
    'returns null if the registry did not audit: %p',
    stdout => {
      expect(readAudit(stdout)).toBeNull()
    },
  )
})
