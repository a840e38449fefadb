import { afterAll, describe, expect, test } from 'bun:test'
import { axport, cleanUp } from '../support/executable.ts'
import { useIntegrations } from './use-integrations.ts'

const INSTANT = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ'

afterAll(cleanUp)

describe('axport integration', () => {
  const { services, integration, refused } = useIntegrations()

  test('describe changes name, purpose and contact, and history has the old values', async () => {
    const options = ['--purpose', ' Recertification ', '--contact', 'hr@lakeside.example', '--json']
    const { client_id: id } = JSON.parse(await integration('create', 'Described', ...options))
    const now = await integration('describe', id, '--name', 'Renamed', '--purpose', 'Audit', '--no-contact')
    expect(now).toBe('name           Renamed\npurpose        Audit\ncontact        none\n')
    const shown = { name: 'Renamed', purpose: 'Audit', contact: null }
    expect(JSON.parse(await integration('describe', id, '--purpose', 'Audit', '--json'))).toEqual({
      client_id: id,
      ...shown,
    })
    const [text, json] = [await integration('show', id), await integration('show', id, '--json')]
    expect(text).toContain(`client id      ${id}\npurpose        Audit\nstate `)
    expect(JSON.parse(json)).toMatchObject(shown)
    expect(await integration('describe', id)).toBe(text)
    expect(await integration('describe', id, '--json')).toBe(json)
    const lines = (await integration('history', id)).split('\n')
    expect(lines.slice(1)).toEqual([
      expect.stringMatching(
        new RegExp(
          `^${INSTANT}  ${id}  Described +created .* name "Described"; purpose "Recertification"; contact "hr@`,
        ),
      ),
      expect.stringMatching(
        / {2}Renamed +described .* name "Described" → "Renamed"; purpose "Recertification" → "Audit"; contact "hr@lakeside.example" → none$/,
      ),
      '',
    ])
    const events = JSON.parse(await integration('history', '--json'))
    expect(events.filter((event: { client_id: string }) => event.client_id === id)).toEqual([
      expect.objectContaining({ event: 'created', purpose: 'Recertification' }),
      expect.objectContaining({
        at: expect.stringMatching(new RegExp(`^${INSTANT}$`)),
        event: 'described',
        purpose: 'Audit',
        name: 'Renamed',
        role: expect.any(String),
        host: expect.any(String),
        changes: {
          name: ['Described', 'Renamed'],
          purpose: ['Recertification', 'Audit'],
          contact: ['hr@lakeside.example', null],
        },
      }),
    ])
    expect(await refused('history', 'Nobody1')).toStartWith('the history has no integration Nobody1: ')
  })

  test('history names the login of who ran each command, before sudo, or the name of --by', async () => {
    const as = async (env: Record<string, string>, ...args: string[]) => {
      const options = { env: { DATABASE_URL: services.url, ...env } }
      const { code, stdout, stderr } = await axport(['integration', ...args], options)
      if (code !== 0) throw new Error(stderr)
      return stdout
    }
    const { client_id: id } = JSON.parse(await as({ LOGNAME: 'cleo' }, 'create', 'Named', '--json'))
    const sudo = { SUDO_USER: 'ana', LOGNAME: 'root' }
    await as(sudo, 'describe', id, '--name', 'Renamed')
    await as({}, 'scope', id, '--organizations', '10')
    const by = ['--by', 'Ben Office']
    await as(sudo, 'describe', id, '--purpose', 'Audit', ...by)
    await as(sudo, 'scope', id, '--products', 'all', ...by)
    await as(sudo, 'rotate', id, ...by)
    await as(sudo, 'disable', id, ...by)
    await as(sudo, 'enable', id, ...by)
    await as(sudo, 'delete', id, '--yes', ...by)
    await as(sudo, 'create', 'Other', ...by)
    const events = JSON.parse(await integration('history', '--json'))
    const of = (name: string) =>
      events
        .filter((event: { client_id: string; name: string }) => event.client_id === id || event.name === name)
        .map((event: { by: string | null }) => event.by)
    expect(of('Other')).toEqual(['cleo', 'ana', null, ...Array(7).fill('Ben Office')])
    const [heading, first, ...lines] = (await integration('history', id)).split('\n')
    expect(heading).toMatch(/ event +by +role +host /)
    expect(first).toMatch(/ created +cleo /)
    expect(lines.filter(line => line.includes('  Ben Office  '))).toHaveLength(6)
  })

  test('history says what was meant as all, since when an integration is disabled, and which secret ends', async () => {
    const created = await integration('create', 'Told', '--organizations', 'all', '--json')
    const { client_id: id } = JSON.parse(created)
    await integration('scope', id, '--organizations', '10', '--products', 'all')
    await integration('disable', id)
    await integration('enable', id)
    await integration('rotate', id, '--grace', '1h')
    const history = await integration('history', id)
    for (const text of [
      / created .*; organizations added 10,.*; meant as all organizations; secrets added \d+$/m,
      / scope .* organizations removed .*; no longer meant as all organizations; products added .*; meant as all products$/m,
      new RegExp(` disabled .* disabled since ${INSTANT}$`, 'm'),
      new RegExp(` enabled .* disabled since ${INSTANT} → none$`, 'm'),
      new RegExp(` rotated .* secrets added \\d+; the old secret ends ${INSTANT}$`, 'm'),
    ])
      expect(history).toMatch(text)
  })
})
