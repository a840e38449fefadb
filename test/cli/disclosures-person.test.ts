import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { axport, cleanUp, errorLine, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { assessment, educator, multiPart, part, proctor } from '../support/fixtures.ts'
import { getList, newToken, provision, succeed, useTwoServices } from '../support/operator.ts'
import { load } from '../support/service.ts'
import { onTerminal } from '../support/terminal.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)
afterAll(cleanUp)

const services = useTwoServices()
const EMAIL = 'Zoë.Ångström@example.org'
const NAME = 'Zoë <script>alert(1)</script> & "Ångström"'
let integration: Awaited<ReturnType<typeof provision>>

/** Person 600 has two assessments, both proctored by Otto, and proctored one of Ana. Emma and Emil share an email. */
beforeAll(async () => {
  await load(services.sql, [
    educator(600, { name: NAME, first_name: 'Zoë', last_name: 'Ångström', email: EMAIL, seid: 'S-600' }),
    ...[
      educator(601, { name: 'Emma', email: 'e@example.org' }),
      educator(602, { name: 'Emil', email: 'E@example.org' }),
    ],
    proctor(78, 'Otto Proctor'),
    assessment(9600, { user_id: 600, proctor_id: 78 }),
    multiPart(9610, [part(9611, { proctor_id: 78 }), part(9612, { proctor_id: 78 })], { user_id: 600 }),
    assessment(9620, { user_id: 501, proctor_id: 600 }),
  ])
  await succeed(services.url, 'migrate', '--time-zone', 'America/Chicago', '--disclosures', 'on')
  integration = await provision(services.sql)
  await succeed(
    services.url,
    'integration',
    'describe',
    integration.clientId,
    '--purpose',
    'Renewal <2027>',
    '--contact',
    'Carl Contact',
  )
  for (const baseUrl of services.baseUrls) await getList(baseUrl, await newToken(baseUrl, integration))
})

const env = () => ({ DATABASE_URL: services.url })
const disclosures = (args: string[], stdin?: string) =>
  axport(['disclosures', ...args], { env: env(), ...(stdin !== undefined && { stdin: { text: stdin } }) })

/** The beginning of the row of the integration. */
const shown = (times: number) => `${integration.clientId}  ${integration.name}  Renewal <2027>  ${times} `

describe('who was shown assessments of others that a person proctored', () => {
  test('is shown beside the own ones by disclosures --user, by the parts of today and in the same period', async () => {
    const proctored = async (...args: string[]) =>
      (await disclosures(['--user', ...args])).stdout
        .split(/^As a proctor in (.*), by the parts of today:\n/m)
        .slice(1)
    const [assessments, table = ''] = await proctored('78')
    expect([assessments, table.split('\n')[1]]).toEqual([
      '2 assessments of others',
      expect.stringContaining(shown(2)),
    ])
    expect(await proctored('78', '--until', '2024-02-29')).toEqual([
      '2 assessments of others',
      'The record has no such answer.\n',
    ])
    expect(await proctored('501')).toEqual([])
    await services.sql`update assessment_parts set proctor_id = 600 where id = 9600`
    expect(await proctored('78')).toEqual(['1 assessment of others', table])
    // An own assessment is no assessment of others.
    expect((await proctored('600'))[0]).toBe('1 assessment of others')
    await services.sql`update assessment_parts set proctor_id = 78 where id = 9600`
  })

  test('is shown by erase --dry-run, too, with and without --json', async () => {
    const erase = (...args: string[]) => succeed(services.url, 'erase', ...args, '--dry-run')
    const text = await erase('78')
    const name = `${integration.name} (${integration.clientId}), Renewal <2027>: 2 times, first 20`
    expect(text).toContain(`\nshown to     no integration\nas proctor   ${name}`)
    expect(text).toContain('are found by the parts of today, and may have named somebody else')
    expect(JSON.parse(await erase('78', '--json'))).toMatchObject({
      shown_to: [],
      shown_as_proctor: [{ client_id: integration.clientId, times: 2 }],
      notes: [expect.any(String), expect.stringContaining('by the parts of today')],
    })
    expect(await erase('501')).not.toContain('as proctor')
  })
})

describe('axport disclosures --email', () => {
  test('finds the person by an email in any case, and shows who that is before the answer', async () => {
    const { code, stdout, stderr } = await disclosures(['--email', ` ${EMAIL.toUpperCase()} `])
    expect(code).toBe(0)
    const [heading, person, blank, ...answer] = stdout.split('\n')
    expect(heading).toMatch(/^user id +name +email +record +assessments +proctored$/)
    expect(person).toMatch(/^600 +Zoë <script>.* +active +2 +1$/)
    expect([blank, answer.length]).toEqual(['', 7])
    expect(answer[1]).toStartWith(shown(2))
    expect(answer.slice(2, 4)).toEqual(['', 'As a proctor in 1 assessment of others, by the parts of today:'])
    expect(answer[5]).toStartWith(shown(2))
    expect(stderr).toMatch(
      /^The record is on.*\nThe record lists educators, not proctors: records with the person as a proctor are found by the parts of today, and may have named somebody else when they were sent\.\n$/,
    )
    const json = await disclosures(['--email', EMAIL, '--json'])
    expect(JSON.parse(json.stdout)).toMatchObject([{ client_id: integration.clientId, times: 2 }])
    expect(json.stderr).toMatch(/^user id {2}name.*\n600 .*\n\n/)
    expect(json.stderr).toContain(
      '\nAs a proctor in 1 assessment of others, by the parts of today:\nclient id ',
    )
  })

  test('reads the email from standard input for a dash, and asks for it on a terminal', async () => {
    const { code, stdout } = await disclosures(['--email', '-'], ` ${EMAIL.toUpperCase()} \nmore\n`)
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^user id .*\n600 /)])
    const asked = await onTerminal(['disclosures', '--email', '-'], env(), 'Email: ', EMAIL)
    expect([asked.code, asked.shown]).toEqual([0, expect.stringMatching(/^Email: .*\nuser id .*\n600 /)])
  })

  test('refuses an email that nobody has or several have, and does not repeat it', async () => {
    const wrong = await disclosures(['--email', 'nobody@example.org'])
    expect(errorLine(wrong, 1)).toMatch(/^nobody in the data has this email: .*--user/)
    const several = await disclosures(['--email', 'e@example.org'])
    expect([several.code, several.stderr]).toEqual([
      1,
      'axport: 2 people have this email: name one with --user\n',
    ])
    expect(several.stdout).toMatch(/^user id .*\n601 .*\n602 /)
    expect(errorLine(await disclosures(['--email', EMAIL, '--user', '600']), 2)).not.toContain(EMAIL)
  })

  test('refuses no email, which most proctors have', async () => {
    for (const [args, stdin] of [
      [['--email', '-'], ' \n'],
      [['--email', '-'], undefined],
    ] as const)
      expect(errorLine(await disclosures([...args], stdin), 2)).toStartWith('no email was given: ')
  })
})
