import { afterAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { describeSettings, SETTINGS } from '../../src/config.ts'
import { axport, cleanUp, emptyFolder } from '../support/executable.ts'
import { NO_PORT } from '../support/wordings.ts'

afterAll(cleanUp)

const NAMES = Object.keys(SETTINGS)
const SECRET = 'S3cret'

/** The output of `axport config --json` in this environment. The command must succeed, or fail with this error. */
async function config(
  env: Record<string, string> = {},
  error?: string,
): Promise<ReturnType<typeof describeSettings>> {
  const { code, stdout, stderr } = await axport(['config', '--json'], { env })
  expect({ code, stderr }).toEqual(
    error === undefined ? { code: 0, stderr: '' } : { code: 1, stderr: `axport: ${error}\n` },
  )
  return JSON.parse(stdout) as ReturnType<typeof describeSettings>
}

/** The columns of each line of `axport config`. */
async function table(env: Record<string, string> = {}): Promise<string[][]> {
  const { stdout } = await axport(['config'], { env })
  return stdout
    .trimEnd()
    .split('\n')
    .map(line => line.split(/ {2,}/))
}

const described = (name: string, env: Record<string, string>) =>
  describeSettings(env).find(setting => setting.name === name)

describe('axport config', () => {
  test('lists every setting with its default and its meaning', async () => {
    const settings = await config()
    expect(settings.map(setting => setting.name)).toEqual(NAMES)
    for (const { name, value, source, default: fallback, meaning, ...more } of settings) {
      expect(more).toEqual({})
      expect({ name, value, source }).toEqual({
        name,
        value: fallback,
        source: fallback === null ? 'not set' : 'default',
      })
      expect(meaning).toMatch(/^[A-Z].*\.$/)
    }
  })

  test('prints the same as a table with one line for each setting', async () => {
    const [heading, ...rows] = await table({ PORT: '8080' })
    expect(heading).toEqual(['setting', 'value', 'from', 'default', 'meaning'])
    expect(rows.map(([name]) => name)).toEqual(NAMES)
    const row = (name: string) => rows.find(([first]) => first === name)
    expect(row('PORT')).toEqual(['PORT', '8080', 'environment', '3000', SETTINGS.PORT.meaning])
    expect(row('HOST')).toEqual(['HOST', '127.0.0.1', 'default', '127.0.0.1', SETTINGS.HOST.meaning])
    expect(row('DATABASE_URL')?.slice(1, 4)).toEqual(['(not set)', 'not set', '-'])
  })

  test('names the source of each value, and treats an empty value as not set', async () => {
    const env = { HOST: '0.0.0.0', PORT: '  ', LOG_LEVEL: '', DATABASE_POOL_SIZE: ' 10 ', OTHER: 'x' }
    const settings = new Map((await config(env)).map(({ name, value, source }) => [name, [value, source]]))
    expect(settings.get('DATABASE_POOL_SIZE')).toEqual(['10', 'environment'])
    expect(settings.get('HOST')).toEqual(['0.0.0.0', 'environment'])
    expect(settings.get('PORT')).toEqual(['3000', 'default'])
    expect(settings.get('LOG_LEVEL')).toEqual(['info', 'default'])
    expect(settings.get('ADMIN_PORT')).toEqual([null, 'not set'])
    expect(settings.has('OTHER')).toBe(false)
  })

  test('reports invalid values in place of the values, and fails', async () => {
    const env = { DATABASE_POOL_SIZE: '0', PORT: '65536', LOG_LEVEL: 'INFO' }
    const size = 'must be a whole number from 1 to 1000'
    const level = 'must be one of debug, info, warn, error, silent'
    const error = `DATABASE_POOL_SIZE ${size}; PORT ${NO_PORT}; LOG_LEVEL ${level}`
    const problems = (await config(env, error)).filter(setting => setting.problem !== undefined)
    expect(problems.map(({ name, value, source, problem }) => [name, value, source, problem])).toEqual([
      ['DATABASE_POOL_SIZE', '0', 'environment', size],
      ['PORT', '65536', 'environment', NO_PORT],
      ['LOG_LEVEL', 'INFO', 'environment', level],
    ])
    const rows = await table(env)
    expect(rows.find(([name]) => name === 'PORT')?.[1]).toBe(`(${NO_PORT})`)
    for (const value of ['1.5', '-1', '1e3', '0x10', 'ten']) {
      expect(described('PORT', { PORT: value })?.problem).toBe(NO_PORT)
    }
  })

  test('needs no database, and fails if settings contradict each other or name no file', async () => {
    const missing = join(emptyFolder(), 'url')
    const url = 'postgres://127.0.0.1:1/x'
    const both = 'DATABASE_URL and DATABASE_URL_FILE are both set: unset one of them'
    const settings = await config({ DATABASE_URL_FILE: missing, DATABASE_URL: url }, both)
    expect(settings.slice(0, 2).map(setting => setting.value)).toEqual([url, missing])
    const unread = `DATABASE_URL_FILE names ${missing}, which cannot be read (ENOENT)`
    await config({ DATABASE_URL_FILE: missing }, unread)
    await config({ DATABASE_URL: url })
  })

  test('takes a value of the form tcp://…, which Kubernetes sets for a service called admin, for none', async () => {
    const shown = new Map((await config({ ADMIN_PORT: 'tcp://10.0.0.1:80' })).map(each => [each.name, each]))
    expect(shown.get('ADMIN_PORT')).toMatchObject({ value: null, source: 'not set' })
  })
})

test('the client secret is masked by axport config', () => {
  expect(described('AXPORT_CLIENT_SECRET', { AXPORT_CLIENT_SECRET: SECRET })?.value).toBe('***')
})

describe('the password in DATABASE_URL', () => {
  test.each([
    [`postgres://axport:${SECRET}@db:5432/axport`, 'postgres://axport:***@db:5432/axport'],
    [`postgres://axport:${SECRET}@[::1]:5432,two/axport`, 'postgres://axport:***@[::1]:5432,two/axport'],
    [`postgres://db/axport?user=a&password=${SECRET}`, 'postgres://db/axport?user=a&password=***'],
    ['postgres://axport@db:5432/axport?sslmode=require', 'postgres://axport@db:5432/axport?sslmode=require'],
  ])(
    'is masked in the table and in JSON, and the rest of the URL is shown: %s',
    async (DATABASE_URL, shown) => {
      expect((await config({ DATABASE_URL }))[0]?.value).toBe(shown)
      expect((await table({ DATABASE_URL }))[1]?.[1]).toBe(shown)
    },
  )

  test.each([
    ...['postgres://u:S3cret@h/d', 'postgresql://u:S3cret@h/d', 'postgres://u:S3cret%40%2F@h/d'],
    ...['postgres://u:p@S3cret@h/d', 'postgres://:S3cret@h/d', 'postgres://u:S3cret@h'],
    ...['postgres://u:S3cret@h1:5432,h2:5432/d', 'postgres://u:S3cret@/d?host=/run/postgresql'],
    ...['postgres://h/d?password=S3cret', 'postgres://h/d?PASSWORD=S3cret&sslpassword=S3cret'],
    ...['postgres://h/d?password=x&password=S3cret', 'postgres://u:x@h/d?a=b&password=S3cret'],
    ...['postgres://u:a#S3cret@h/d', 'postgres://u:a/S3cret@h/d', 'postgres://u:a?S3cret@h/d'],
    ...['host=h user=u password=S3cret', 'mysql://u:S3cret@h/d', '//u:S3cret@h/d', 'S3cret'],
    // These are valid URLs that were meant differently: the text after the user is parsed as a port or a
    // path.
    ...['postgres://u:1/S3cret@h/d', 'postgres://u:1#S3cret@h/d', 'postgres://u:1?S3cret@h/d'],
    ...['u:S3cret@h/d', 'axport:S3cret', 'postgres:u:S3cret@h/d', 'postgres:/u:S3cret@h/d/x'],
  ])('is masked in the malformed or unusual value %s', url => {
    const settings = { DATABASE_URL: url, DATABASE_READ_URL: url, PLATFORM_URL: url }
    expect(JSON.stringify(describeSettings(settings))).not.toContain(SECRET)
  })

  test('is not shown if DATABASE_URL_FILE contains the URL itself', async () => {
    const env = { DATABASE_URL_FILE: `postgres://u:${SECRET}@h/d` }
    const outputs = [await axport(['config'], { env }), await axport(['integration', 'list'], { env })]
    expect(JSON.stringify(outputs)).not.toContain(SECRET)
  })
})
