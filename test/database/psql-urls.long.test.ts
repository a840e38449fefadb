import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import postgres, { type Sql } from 'postgres'
import { openDatabase } from '../../src/database/database.ts'
import { type OwnCluster, startCluster } from '../support/cluster.ts'
import { program, requires } from '../support/requires.ts'

/** Passwords and parameters of URLs, compared with psql. */

/** Debian's `psql` is a script that starts this one, and takes 30 ms longer. */
const DEBIANS = '/usr/lib/postgresql/15/bin/psql'
const PSQL = existsSync(DEBIANS) ? DEBIANS : 'psql'

const METHODS = ['password', 'md5', 'scram-sha-256'] as const

let server: OwnCluster
/** By the name of the database: each has its encoding. */
let admins: Record<'postgres' | 'latin1', Sql>

beforeAll(async () => {
  server = await startCluster()
  const admin = (name: string) =>
    postgres(server.url(name), { max: 1, fetch_types: false, onnotice: () => {} })
  admins = { postgres: admin('postgres'), latin1: admin('latin1') }
  const rules = METHODS.map(method => `host all "by ${method}" 127.0.0.1/32 ${method}\n`)
  const file = join(server.dataDir, 'pg_hba.conf')
  writeFileSync(file, rules.join('') + readFileSync(file, 'utf8'))
  const { postgres: sql } = admins
  await sql`select pg_reload_conf()`
  for (const method of METHODS) await sql.unsafe(`create role "by ${method}" login`)
  await sql.unsafe(`create role other; grant other to "by md5"`)
  await sql.unsafe(`create database latin1 template template0 encoding 'LATIN1' locale 'C'`)
})
afterAll(async () => {
  for (const sql of Object.values(admins ?? {})) await sql.end()
  await server?.stop()
})

/** Gives the role of a method this password, in the encoding of a database. */
async function give(
  method: (typeof METHODS)[number],
  password: string,
  database: keyof typeof admins = 'postgres',
): Promise<void> {
  const sql = admins[database]
  await sql.unsafe(`set password_encryption = '${method === 'md5' ? 'md5' : 'scram-sha-256'}'`)
  const [row] = await sql<{ text: string }[]>`
    select format('alter role %I password %L', ${`by ${method}`}::text, ${password}::text) as text`
  await sql.unsafe(row?.text ?? '')
}

test.each([
  ['password', 'cleartext'],
  ['md5', 'md5'],
  ['scram-sha-256', 'scram-sha-256'],
] as const)(
  'postgres.js passes the method to the function that gives the password: %s',
  async (method, expected) => {
    await give(method, 'p')
    const asked: unknown[] = []
    const password = (...given: unknown[]) => {
      asked.push(...given)
      return 'p'
    }
    const { hostname: host, port } = new URL(server.url())
    const user = `by ${method}`
    const client = postgres({
      host,
      port: Number(port),
      user,
      database: 'postgres',
      password,
      max: 1,
      fetch_types: false,
    })
    expect([...(await client`select current_user::text as user`)]).toEqual([{ user }])
    await client.end()
    expect(asked).toEqual([expected])
  },
)

requires(program('psql', 'postgresql-client')).describe(
  'whatever psql connects with, axport connects with',
  () => {
    const psql = (url: string) =>
      Bun.spawnSync([PSQL, '--no-psqlrc', '--no-password', '-Atc', 'select current_user', '-d', url], {
        env: { LC_ALL: 'C.UTF-8', PATH: process.env.PATH },
      })
    const byPsql = (url: string) => psql(url).stdout.toString().trim() || 'nobody'
    const byAxport = async (url: string) => {
      const database = await openDatabase(url, 1).catch(() => undefined)
      if (!database) return 'nobody'
      const [row] = await database.sql`select current_user as name`
      await database.close()
      return row?.name
    }

    /** A URL with what comes before the "@", and the rest. */
    const urlOf = (credentials: string, rest = '/postgres') =>
      `postgres://${credentials}@${new URL(server.url()).host}${rest}`
    const escaped = (password: string) =>
      [...Buffer.from(password)].map(byte => `%${byte.toString(16).padStart(2, '0')}`).join('')

    const PASSWORDS = [
      ...['plain', ' ', '%', '%25', 'a:b?c#d[e]f&g=h+i', '/@/', `'"\\$`, '\u0001\u007f', 'x'.repeat(900)],
      ...[
        'é',
        'e\u0301',
        '½ﬁⅨ',
        'a\u00a0b',
        'a\u00adb',
        '\u00ad',
        'a\u200bb',
        '王',
        '👍',
        '㋿',
        '🄀',
        '\u0340é',
      ],
      ...['שלום', 'aשלום', 'ש½ש', 'ש℅ש', 'ﷺ'],
    ]

    test.each(METHODS)('by %s, with the right password and with no other', async method => {
      for (const password of PASSWORDS) {
        await give(method, password)
        const url = urlOf(`by%20${method}:${escaped(password)}`)
        expect([password, byPsql(url), await byAxport(url)]).toEqual([
          password,
          `by ${method}`,
          `by ${method}`,
        ])
      }
      const wrong = urlOf(`by%20${method}:wrong`)
      expect([byPsql(wrong), await byAxport(wrong)]).toEqual(['nobody', 'nobody'])
    })

    test.each(METHODS)('by %s, with a password in the encoding of a database', async method => {
      await give(method, 'é', 'latin1')
      for (const [password, expected] of [
        ['%e9', `by ${method}`],
        ['%C3%A9', 'nobody'],
      ] as const) {
        const url = urlOf(`by%20${method}:${password}`)
        expect([byPsql(url), await byAxport(url)]).toEqual([expected, expected])
      }
    })

    test.each([
      ['p:?#[]!$&(*);=~', 'p:?#[]!$&(*);=~', 'by md5'],
      ['p w', 'p w', 'by md5'],
      ['p+w', 'p+w', 'by md5'],
      ['p%2bw', 'p+w', 'by md5'],
      ['é', 'é', 'by md5'],
      ['p%w', 'p%w', 'nobody'],
      ['p%0', 'p%0', 'nobody'],
      ['p%00w', 'p', 'nobody'],
      ['p@w', 'p@w', 'nobody'],
      ['p/w', 'p/w', 'nobody'],
      ['', 'p', 'nobody'],
    ])('written as %s in a URL, if it is %s', async (written, password, expected) => {
      await give('md5', password)
      const url = urlOf(`by%20md5:${written}`)
      expect([byPsql(url), await byAxport(url)]).toEqual([expected, expected])
    })

    test.each([
      ['', '/postgres?user=by%20md5&password=p', 'by md5'],
      ['by%20md5:wrong', '/postgres?password=p', 'by md5'],
      ['by%20md5:p', '/postgres?password=wrong', 'nobody'],
      ['by%20md5:p', '/postgres?password=', 'nobody'],
      ['by%20md5:p', '/nowhere?dbname=postgres', 'by md5'],
      ['by%20md5:p', '/postgres?password=wrong&password=p', 'by md5'],
      ['by%20md5:p', '/postgres?sslmode=require&sslmode=disable', 'by md5'],
      ['by%20md5:p', '/postgres?sslmode=disable&ssl=true', 'nobody'],
      ['by%20md5:p', '/postgres?host=nowhere.invalid&host=127.0.0.1', 'by md5'],
      ['by%20md5:p', '/postgres?options=-c%20role%3Dother', 'other'],
      ['by%20md5:p', '/postgres?application_name=a&options=-c+role%3Dother', 'nobody'],
      ['by%20md5:p', '/postgres?work_mem=1MB', 'nobody'],
      ['by%20md5:p', '?dbname=postgres', 'by md5'],
      ['by%20md5:p', '/postgres#?dbname=nowhere', 'nobody'],
    ])('from a URL with %s before the host and %s after it', async (credentials, rest, expected) => {
      await give('md5', 'p')
      const url = credentials === '' ? urlOf('', rest).replace('@', '') : urlOf(credentials, rest)
      expect([byPsql(url), await byAxport(url)]).toEqual([expected, expected])
    })

    test('with the name of the user as the database', async () => {
      await give('md5', 'p')
      await admins.postgres.unsafe('create database "by md5"')
      const url = urlOf('by%20md5:p', '')
      expect([byPsql(url), await byAxport(url)]).toEqual(['by md5', 'by md5'])
    })
  },
)
