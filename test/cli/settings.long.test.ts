import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeSettings } from '../../src/config.ts'
import { emptyDatabase, type TestDatabase } from '../support/cluster.ts'
import { axport, cleanUp, emptyFolder, errorLine } from '../support/executable.ts'
import { freePort } from '../support/free-port.ts'
import { type TestDatabase as Migrated, openTestDatabase } from '../support/service.ts'
import { NO_PORT } from '../support/wordings.ts'

const SECRET = 'S3cretPassw0rd'

let database: Migrated
let empty: TestDatabase
let folder: string

beforeAll(async () => {
  database = await openTestDatabase()
  empty = await emptyDatabase()
  folder = emptyFolder()
})
afterAll(async () => {
  await cleanUp()
  await database.close()
  await empty.drop()
})

/** The database's URL with some parts replaced. */
function urlWith(
  changes: Partial<Record<'username' | 'password' | 'pathname' | 'hostname' | 'port', string>>,
): string {
  const url = new URL(database.url)
  if (!('password' in changes)) url.password = SECRET
  return Object.assign(url, changes).href
}

/** The error message of `serve` with this environment. The output must not contain the password. */
async function errorWith(env: Record<string, string>, ...args: string[]): Promise<string> {
  const finished = await axport(['serve', ...args], { env: { PORT: '0', ...env }, cwd: folder })
  expect(finished.stdout + finished.stderr).not.toContain(SECRET)
  expect(finished.stdout + finished.stderr).not.toContain(new URL(database.url).password)
  return errorLine(finished, 1)
}

describe('DATABASE_URL', () => {
  const FORM = /postgres:\/\/user:password@host:port\/name, with .* "@" as %40 in user and password$/

  test('that is unset or blank ends serve, migrate, import and integration create, with an error that names the form of the URL', async () => {
    const commands = [['serve'], ['migrate'], ['import', '-'], ['integration', 'create', 'x']]
    const calls = commands.map(args => axport(args, { cwd: folder }))
    const blanks = ['', '  '].map(DATABASE_URL => axport(['serve'], { env: { DATABASE_URL }, cwd: folder }))
    for (const call of await Promise.all([...calls, ...blanks]))
      expect(errorLine(call, 1)).toMatch(/^DATABASE_URL is not set: set it to postgres:\/\/\S+$/)
    expect(readdirSync(folder)).toEqual([])
  })

  test.each([
    ...['nonsense', 'postgres:/host/name', 'embedded:./data', `mysql://user:${SECRET}@127.0.0.1/x`],
    ...[`postgres://user:${SECRET}@x@127.0.0.1/x`, `postgres://user:${SECRET}/x@127.0.0.1/x`],
    ...[
      `postgres://user:${SECRET}@127.0.0.1:99999/x`,
      `postgres://user:0@x/${SECRET}?${SECRET}=1@127.0.0.1/x`,
    ],
  ])('that is not the URL of a database is refused with the form of the URL: %s', async url => {
    expect(await errorWith({ DATABASE_URL: url })).toMatch(FORM)
  })

  const passwordOf = () => new URL(database.url).password
  const REFUSED = /refuses the user or password in DATABASE_URL/
  test.each<[string, () => string, RegExp]>([
    ['a percent sign in its password', () => `postgres://user:${SECRET}%ZZ@127.0.0.1/x`, /^DATABASE_URL/],
    ['a wrong password', () => urlWith({}), REFUSED],
    ['a wrong user', () => urlWith({ username: 'nobody' }), REFUSED],
    ['no password', () => urlWith({ password: '' }), REFUSED],
    [
      'a database that does not exist',
      () => urlWith({ password: passwordOf(), pathname: '/nowhere' }),
      /no database.*createdb/,
    ],
  ])('with %s is refused immediately, with advice', async (_, url, message) => {
    // The log is empty: serve does not wait for the database.
    expect(await errorWith({ DATABASE_URL: url() })).toMatch(message)
  })

  test.each<[string, () => string | Promise<string>, RegExp]>([
    ['a host that does not exist', () => urlWith({ hostname: 'db.invalid' }), /host/],
    [
      'a port where nothing listens',
      async () => urlWith({ port: String(await freePort()) }),
      /nothing listens there.*host and port/,
    ],
    ['a server without encryption', () => `${database.url}?sslmode=require`, /ssl|tls|encrypt/i],
  ])('with %s is refused by serve --check, which tries once, with advice', async (_, url, message) => {
    expect(await errorWith({ DATABASE_URL: await url() }, '--check')).toMatch(message)
  })
})

describe('DATABASE_URL_FILE', () => {
  const file = (text: string) => {
    const path = join(emptyFolder(), 'url')
    writeFileSync(path, text)
    return path
  }

  test('names a file that contains the URL, which is trimmed', async () => {
    const { code } = await axport(['integration', 'create', 'x'], {
      env: { DATABASE_URL_FILE: file(`\n ${database.url}\r\n\n`) },
    })
    expect(code).toBe(0)
  })

  test.each<[string, () => Record<string, string>, RegExp]>([
    [
      'does not exist',
      () => ({ DATABASE_URL_FILE: '/nowhere/url' }),
      /^DATABASE_URL_FILE names .*cannot be read/,
    ],
    ['is a folder', () => ({ DATABASE_URL_FILE: folder }), /^DATABASE_URL_FILE names .*cannot be read/],
    ['is blank', () => ({ DATABASE_URL_FILE: file(' \n') }), /^DATABASE_URL_FILE names .*empty/],
    ['contains no URL', () => ({ DATABASE_URL_FILE: file(`user:${SECRET}@host`) }), /DATABASE_URL_FILE/],
    ['is set beside DATABASE_URL', () => ({ DATABASE_URL: 'x', DATABASE_URL_FILE: file('x') }), /both set/],
  ])('that %s is refused with the reason', async (_, env, message) => {
    expect(await errorWith(env())).toMatch(message)
  })
})

describe('DATABASE_READ_URL', () => {
  test.each<[string, Record<string, string>, RegExp]>([
    [
      'is no URL',
      { DATABASE_READ_URL: `user:${SECRET}@h` },
      /^DATABASE_READ_URL \(or what DATABASE_READ_URL_FILE holds\) must be postgres:/,
    ],
    [
      'has an unsupported parameter',
      { DATABASE_READ_URL: `postgres://u:${SECRET}@h/d?sslcrl=x` },
      /^DATABASE_READ_URL has sslcrl/,
    ],
    [
      'is set beside its file',
      { DATABASE_READ_URL: `postgres://u:${SECRET}@h/d`, DATABASE_READ_URL_FILE: '/x' },
      /both set/,
    ],
  ])('that %s is refused by serve and serve --check', async (_, settings, message) => {
    for (const args of [['serve'], ['serve', '--check']]) {
      const env = { DATABASE_URL: database.url, PORT: '0', ...settings }
      const line = errorLine(await axport(args, { env }), 1)
      expect(line).toMatch(message)
      expect(line).not.toContain(SECRET)
    }
  })

  test.each([
    ['names no standby', () => database.url, 'DATABASE_READ_URL names no standby'],
    [
      'names no server',
      () => 'postgres://127.0.0.1:1/x',
      'nothing listens there: is Postgres running, and are host and port of DATABASE_READ_URL right?',
    ],
  ])(
    'that %s is a warning of serve --check, because the primary reads all pages then',
    async (_, url, warning) => {
      const env = { DATABASE_URL: database.url, DATABASE_READ_URL: url(), PORT: '0' }
      const { code, stdout } = await axport(['serve', '--check'], { env })
      expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(warning) })
      expect(stdout).toContain('server: warning: ')
    },
  )
})

describe('a database', () => {
  test('without a schema is refused by serve, import and integration create, and the error names migrate', async () => {
    for (const args of [['serve'], ['import', '-'], ['integration', 'create', 'x']]) {
      const finished = await axport(args, { env: { DATABASE_URL: empty.url, PORT: '0' } })
      expect(errorLine(finished, 1)).toMatch(/schema.*run axport migrate/)
    }
  })
})

describe('a setting', () => {
  test.each([
    ['PORT', ['http', '-1', '65536', '80.5', '1e3', '0x50'], NO_PORT],
    ['ADMIN_PORT', ['http', '65536'], NO_PORT],
    [
      'TRUSTED_PROXIES',
      ['proxy', '10.0.0.0/33'],
      'must be addresses and networks with commas between them, as 10.0.0.7, 192.168.0.0/16',
    ],
    ['SHUTDOWN_DELAY', ['-1', '5s'], 'must be a whole number from 0 to 3600'],
    ['LOG_LEVEL', ['loud', 'INFO', '30'], 'must be one of debug, info, warn, error, silent'],
    ['DATABASE_POOL_SIZE', ['0', '-1', '1001', 'many'], 'must be a whole number from 1 to 1000'],
  ])('with an invalid %s is reported with the allowed values', async (name, values, problem) => {
    for (const value of values)
      expect(describeSettings({ [name]: value }).find(setting => setting.name === name)?.problem).toBe(
        problem,
      )
    const [value = ''] = values
    expect(await errorWith({ DATABASE_URL: database.url, [name]: value })).toBe(`${name} ${problem}`)
  })

  test.each(['192.0.2.1', 'host.invalid', 'a b'])(
    'HOST that is not an address of this machine is reported: %s',
    async HOST => {
      const message = /is not an address of this machine: set HOST/
      expect(await errorWith({ DATABASE_URL: database.url, HOST })).toMatch(message)
    },
  )

  test('that is invalid is reported by demo before it prepares anything', async () => {
    const finished = await axport(['demo'], { env: { PORT: 'nonsense', TMPDIR: folder } })
    expect(errorLine(finished, 1)).toMatch(/^PORT must be /)
  })

  test('is not read from files in the working directory', async () => {
    const cwd = emptyFolder()
    for (const name of ['.env', '.env.local', '.env.production', '.env.development'])
      writeFileSync(join(cwd, name), `DATABASE_URL=${database.url}\nLOG_LEVEL=silent\n`)
    writeFileSync(join(cwd, 'bunfig.toml'), 'preload = ["./preload.ts"]\n[run]\npreload = ["./preload.ts"]\n')
    writeFileSync(join(cwd, 'preload.ts'), 'console.log("preloaded")\n')
    writeFileSync(join(cwd, 'tsconfig.json'), 'nonsense')
    writeFileSync(join(cwd, 'package.json'), 'nonsense')
    expect(errorLine(await axport(['serve'], { cwd, env: { PORT: '0' } }), 1)).toMatch(
      /^DATABASE_URL is not set/,
    )
    expect((await axport(['--version'], { cwd })).stdout).toMatch(/^\d+\.\d+\.\d+/)
  })
})
