import { afterAll, describe, expect, test } from 'bun:test'
import type { Finding } from '../../src/doctor/finding.ts'
import { badFindings, CHECKS, detailOf, useHealthyDatabases } from '../support/doctor.ts'
import { axport, cleanUp } from '../support/executable.ts'
import { everything } from '../support/import.ts'
import { succeed } from '../support/operator.ts'
import { openTestDatabase } from '../support/service.ts'

afterAll(cleanUp)
const newHealthyDatabase = useHealthyDatabases()

describe('axport doctor on a healthy database', () => {
  test('prints a table in which everything is ok, and exits with 0', async () => {
    const { url } = await newHealthyDatabase()
    const { code, stdout, stderr } = await axport(['doctor'], { env: { DATABASE_URL: url } })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const [heading, ...lines] = stdout.trimEnd().split('\n')
    expect(heading).toMatch(/^check +status +detail$/)
    expect(lines.map(line => /^(.+?) {2,}ok {2,}\S/.exec(line)?.[1])).toEqual(CHECKS)
  })

  test('prints with --json an array of objects with check, status and detail, and the same with --full', async () => {
    const { url } = await newHealthyDatabase()
    for (const options of [[], ['--full']]) {
      const env = { DATABASE_URL: url }
      const { code, stdout, stderr } = await axport(['doctor', '--json', ...options], { env })
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      const findings = JSON.parse(stdout) as Finding[]
      expect(findings.map(finding => Object.keys(finding))).toEqual(
        CHECKS.map(() => ['check', 'status', 'detail']),
      )
      expect(findings.map(({ check, status }) => [check, status])).toEqual(CHECKS.map(name => [name, 'ok']))
    }
  })

  test('says how many records it compared and which time zone it found, and changes nothing', async () => {
    const { sql, url } = await newHealthyDatabase()
    await succeed(url, 'migrate', '--time-zone', 'America/Chicago')
    const before = await everything(sql)
    for (const options of [[], ['--full']])
      expect(await detailOf(url, 'export', ...options)).toBe('all 3 records, equal to their source')
    expect(await detailOf(url, 'time zone')).toBe('America/Chicago')
    expect(await everything(sql)).toEqual(before)
  })

  test('says when the last import was', async () => {
    const { sql, url } = await newHealthyDatabase()
    await sql`update export_state set last_import_at = now() - interval '26 hours 5 minutes 7 seconds'`
    // Some seconds may have passed.
    expect(await detailOf(url, 'last load')).not.toContain(':05:00 ago')
    expect(await detailOf(url, 'last load')).toMatch(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ, 1 day 02:05:\d\d ago$/,
    )
  })

  test('finds nothing wrong with a database that has no data yet', async () => {
    const { url, close } = await openTestDatabase()
    expect(await badFindings(url)).toEqual([])
    expect(await detailOf(url, 'last load')).toBe('none yet by axport import')
    await close()
  })
})
