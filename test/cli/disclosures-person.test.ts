import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { axport, cleanUp, emptyFolder, errorLine, TEST_TIMEOUT_MS } from '../support/executable.ts'
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

describe('axport disclosures --ask-email', () => {
  test('finds the person by an email in any case from standard input, and shows who that is before the answer', async () => {
    const { code, stdout, stderr } = await disclosures(['--ask-email'], ` ${EMAIL.toUpperCase()} \nmore\n`)
    expect(code).toBe(0)
    const [heading, person, blank, ...answer] = stdout.split('\n')
    expect(heading).toMatch(/^user id +name +email +record +assessments +proctored$/)
    expect(person).toMatch(/^600 +Zoë <script>.* +active +2 +1$/)
    expect([blank, answer.length]).toEqual(['', 3])
    expect(answer[1]).toStartWith(`${integration.clientId}  ${integration.name}  Renewal <2027>  2 `)
    expect(stderr).toMatch(
      /^The record is on.*\nThe record lists educators, not proctors; this person proctored 1 assessment of others, and axport disclosures --assessment ID shows who was sent one\.\n$/,
    )
    const json = await disclosures(['--ask-email', '--json'], EMAIL)
    expect(JSON.parse(json.stdout)).toMatchObject([{ client_id: integration.clientId, times: 2 }])
    expect(json.stderr).toStartWith('user id  name')
  })

  test('asks on a terminal', async () => {
    const { code, shown } = await onTerminal(['disclosures', '--ask-email'], env(), 'Email: ', EMAIL)
    expect([code, shown]).toEqual([0, expect.stringMatching(/^Email: .*\nuser id .*\n600 /)])
  })

  test('refuses an email that nobody has, several have, or that is an argument, and does not repeat it', async () => {
    const wrong = await disclosures(['--ask-email'], 'nobody@example.org\n')
    expect(errorLine(wrong, 1)).toMatch(/^nobody in the data has this email: .*--user/)
    const several = await disclosures(['--ask-email'], 'e@example.org')
    expect([several.code, several.stderr]).toEqual([
      1,
      'axport: 2 people have this email: name one with --user\n',
    ])
    expect(several.stdout).toMatch(/^user id .*\n601 .*\n602 /)
    expect(errorLine(await disclosures(['--ask-email'], ' \n'), 2)).toMatch(/^no email was given/)
    const argument = await disclosures(['--ask-email', EMAIL])
    expect(errorLine(argument, 2)).toBe(
      "too many arguments for 'disclosures'. Expected 0 arguments but got 1 (see axport disclosures --help)",
    )
    // Proctors without an email are not found by none.
    expect((await disclosures(['--ask-email'])).code).toBe(2)
  })
})

describe('axport disclosures --report', () => {
  test('writes an escaped page for its owner alone, with the records of the person and without other people', async () => {
    const file = join(emptyFolder(), 'report.html')
    const { code, stdout, stderr } = await disclosures(['--user', '600', '--since', '90d', '--report', file])
    expect([code, stdout]).toEqual([0, `${file} has what user 600 may know: 1 recipient\n`])
    expect(stderr).toMatch(
      /^The record is on.*; its oldest answer is of 2.*\nThe record lists educators, not proctors; this person proctored 1 /,
    )
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const page = readFileSync(file, 'utf8')
    expect(page).toContain('Zoë &#60;script&#62;alert(1)&#60;/script&#62; &#38; &#34;Ångström&#34;')
    for (const text of [
      EMAIL,
      'S-600',
      'since 90 days ago',
      'America/Chicago',
      'Lakeside District',
      integration.name,
    ])
      expect(page).toContain(text)
    expect(page).toContain('<td>Renewal &#60;2027&#62;</td><td class="number">2</td>')
    expect(page.match(/<td class="number">96\d\d<\/td>/g)).toEqual([
      '<td class="number">9600</td>',
      '<td class="number">9610</td>',
    ])
    expect(page).toContain(
      "You are named as the proctor of other people's assessments (1 today).".replace("'", '&#39;'),
    )
    for (const other of [
      'Otto',
      'Ana',
      'Ruiz',
      'Emma',
      'Carl',
      integration.clientId,
      '<script',
      'href',
      'src=',
    ])
      expect(page).not.toContain(other)
    expect(page).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`)
  })

  test('writes a page for an id that is not in the data, and replaces a file with one that its owner alone can read', async () => {
    const folder = emptyFolder()
    const file = join(folder, 'report.html')
    await Bun.write(file, 'old')
    expect(statSync(file).mode & 0o077).not.toBe(0)
    expect((await disclosures(['--user', '4711', '--report', file])).code).toBe(0)
    const page = readFileSync(file, 'utf8')
    expect(page).toContain('a person who is not in the data')
    expect(page).toContain('The record has no answer that showed a record of yours.')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder)).toEqual(['report.html'])
  })

  test('needs a person and a file that can be written', async () => {
    expect(errorLine(await disclosures(['--report', 'x.html']), 2)).toMatch(/^--report is about an educator/)
    const lost = await disclosures(['--user', '600', '--report', '/nowhere/x.html'])
    expect(errorLine(lost, 1)).toBe('cannot write /nowhere/x.html: there is no such folder')
  })
})
