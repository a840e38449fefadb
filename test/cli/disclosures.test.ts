import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { axport, cleanUp, errorLine } from '../support/executable.ts'
import { getList, newToken, provision, refusal, succeed, useTwoServices } from '../support/operator.ts'

afterAll(cleanUp)

const INSTANT = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ'
const instant = expect.stringMatching(new RegExp(`^${INSTANT}$`))

describe('while services run, axport disclosures', () => {
  const services = useTwoServices()
  const disclosures = (...args: string[]) => succeed(services.url, 'disclosures', ...args)
  let integration: Awaited<ReturnType<typeof provision>>
  beforeAll(async () => {
    integration = await provision(services.sql)
    await succeed(services.url, 'integration', 'describe', integration.clientId, '--purpose', 'Renewal')
  })

  test('says on standard error that recording is off, and how to switch it on', async () => {
    const { code, stdout, stderr } = await axport(['disclosures'], { env: { DATABASE_URL: services.url } })
    expect([code, stdout, stderr]).toEqual([
      0,
      'The record has no such answer.\n',
      'The record is off, kept for 400 days; it has no answer yet; axport migrate --disclosures on begins to record.\n',
    ])
    expect([await disclosures('--json'), await disclosures('--each', '--json')]).toEqual(['[]\n', '[]\n'])
  })

  test('prints which record was shown to which integration, as a table, as CSV and as JSON', async () => {
    await succeed(services.url, 'migrate', '--disclosures', 'on')
    for (const baseUrl of services.baseUrls) await getList(baseUrl, await newToken(baseUrl, integration))
    const { clientId, name } = integration
    const shown = { client_id: clientId, name, purpose: 'Renewal', times: 2, first: instant, last: instant }
    expect(JSON.parse(await disclosures('--user', '501', '--json'))).toEqual([shown])
    expect(await disclosures('--user', '501', '--since', '90d')).toMatch(
      new RegExp(
        `^client id +name +purpose +times +first +last\n${clientId}  ${name}  Renewal +2 +${INSTANT}  ${INSTANT}\n$`,
      ),
    )
    expect(await disclosures('--integration', clientId, '--csv')).toMatch(
      new RegExp(
        `^client_id,name,purpose,times,first,last\n${clientId},${name},Renewal,2,${INSTANT},${INSTANT}\n$`,
      ),
    )
    expect(await disclosures('--user', '505', '--until', '2024-02-29')).toBe(
      'The record has no such answer.\n',
    )
    const each = JSON.parse(await disclosures('--user', '501', '--each', '--json'))
    const one = { at: instant, client_id: clientId, name, purpose: 'Renewal', address: '127.0.0.1' }
    const ids = { request_id: expect.stringMatching(/^\S+$/), key: expect.stringMatching(/^[0-9a-f-]{36}$/) }
    expect(each).toEqual([1, 2].map(() => ({ ...one, ...ids, filters: [] })))
    const [heading, ...lines] = (await disclosures('--user', '501', '--each')).trimEnd().split('\n')
    expect(heading).toMatch(/^time +client id +request id +address +name +purpose +filters$/)
    expect(lines.map(line => line.split(/ {2,}/))).toEqual(
      each.map((row: typeof one & { request_id: string }) => [
        row.at,
        clientId,
        row.request_id,
        '127.0.0.1',
        name,
        'Renewal',
      ]),
    )
    expect((await disclosures('--each', '--csv')).split('\n').slice(0, 2)).toEqual([
      'at,client_id,request_id,address,name,purpose,filters,key',
      `${each[0].at},${clientId},${each[0].request_id},127.0.0.1,${name},Renewal,,${each[0].key}`,
    ])
    for (const [since, until] of [
      ['2026-03-02', '2026-03-01'],
      ['30d', '90d'],
      ['1d', '2026-03-01'],
    ] as const) {
      const args = ['disclosures', '--since', since, '--until', until]
      const finished = await axport(args, { env: { DATABASE_URL: services.url } })
      expect(errorLine(finished, 2)).toStartWith('--until is before --since: ')
    }
    expect(await disclosures('--since', '2026-03-01', '--until', '2026-03-01')).toBe(
      'The record has no such answer.\n',
    )
    expect(await refusal(services.url, 'disclosures', '--integration', 'Nobody1')).toStartWith(
      'there never was',
    )
  })
})
