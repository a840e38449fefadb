import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { axport, cleanUp, complaint, PATIENCE } from '../support/executable.ts'
import { load, openTestDatabase, type TestDatabase } from '../support/service.ts'

setDefaultTimeout(PATIENCE)

let database: TestDatabase
let env: Record<string, string>

beforeAll(async () => {
  database = await openTestDatabase('postgres')
  env = { DATABASE_URL: database.url }
  await load(
    database.sql,
    [1, 2, 3, 10].flatMap(id => [
      { type: 'organization', id, name: `o${id}` },
      { type: 'product', id, name: `p${id}` },
    ]),
  )
})
afterAll(async () => {
  await cleanUp()
  await database.close()
})

const create = (...args: string[]) => axport(['integration', 'create', ...args], { env })

interface Scope {
  name: string
  organization_ids: string[]
  product_ids: string[]
}

async function created(...args: string[]): Promise<Scope> {
  const { code, stdout, stderr } = await create(...args, '--json')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const { client_id } = JSON.parse(stdout) as { client_id: string }
  const [row] = await database.sql<Scope[]>`
    select name, organization_ids, product_ids from integrations where client_id = ${client_id}`
  return row as Scope
}

const count = async () => (await database.sql`select from integrations`).length

describe('integration create', () => {
  test('prints the client id and the secret, letters and digits only, and says that it does so once', async () => {
    const { code, stdout, stderr } = await create('Nightly export', '--organizations', '1', '--products', '2')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^client_id {6}[A-Za-z0-9]{20,}\nclient_secret {2}[A-Za-z0-9]{43}\n$/)
    expect(stderr).toBe('Keep the secret now: it is not shown again.\n')
  })

  test('prints one JSON object with --json, and nothing else', async () => {
    const { code, stdout, stderr } = await create('Nightly export', '--json')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^\{[^\n]*\}\n$/)
    expect(JSON.parse(stdout)).toMatchObject({
      client_id: expect.stringMatching(/^[A-Za-z0-9]{20,}$/),
      client_secret: expect.stringMatching(/^[A-Za-z0-9]{43}$/),
    })
  })

  test('gives every integration credentials of its own, also under the same name', async () => {
    const outputs = await Promise.all([1, 2, 3].map(() => create('Twin', '--json')))
    const values = outputs.flatMap(({ stdout }) => Object.values(JSON.parse(stdout) as object))
    expect(new Set(values).size).toBe(6)
  })

  test('stores the scope as it is given, each id once', async () => {
    expect(await created('A', '--organizations', '10,2,1,2', '--products', ' 3 , 1,')).toEqual({
      name: 'A',
      organization_ids: ['1', '2', '10'],
      product_ids: ['1', '3'],
    })
    expect(await created('B', '--organizations=2')).toMatchObject({
      organization_ids: ['2'],
      product_ids: [],
    })
    expect(await created('C')).toMatchObject({ organization_ids: [], product_ids: [] })
  })

  test('takes a name as it is, without the white space around it', async () => {
    expect(await created("  Łódź's «export» 李 \n")).toMatchObject({ name: "Łódź's «export» 李" })
    expect(await created('x'.repeat(500))).toMatchObject({ name: 'x'.repeat(500) })
    expect(await created('--', '-n').catch(() => 'refused')).toBe('refused')
  })

  test('names the ids that do not exist, and creates nothing', async () => {
    const before = await count()
    const cases: [string[], RegExp][] = [
      [['--organizations', '1,77,2,66'], /^there are no organizations with these ids: 66, 77$/],
      [['--products', '88'], /^there are no products with these ids: 88$/],
      [['--organizations', '999999999999999999'], /organizations.* 999999999999999999$/],
      [['--organizations', '0'], /organizations.* 0$/],
    ]
    for (const [args, message] of cases) expect(complaint(await create('X', ...args), 1)).toMatch(message)
    expect(await count()).toBe(before)
  })

  test('refuses a name of more than 500 characters in words of its own', async () => {
    const finished = await create('x'.repeat(501))
    expect([1, 2]).toContain(finished.code)
    expect(complaint(finished, finished.code as 1 | 2)).toMatch(/^the name .*500 characters/)
  })

  test('refuses a wrong call before it makes anything', async () => {
    const before = await count()
    for (const args of [['  '], ['x', '--organizations', 'one'], ['x', '--products', '1;2'], ['x', 'y']])
      complaint(await create(...args), 2)
    expect(await count()).toBe(before)
  })
})

test('the secret stands nowhere in the database, in whatever form it could be read', async () => {
  const { stdout } = await create('Secretive', '--organizations', '1', '--products', '1', '--json')
  const { client_id, client_secret } = JSON.parse(stdout) as { client_id: string; client_secret: string }
  const tables = await database.sql<{ name: string }[]>`
    select format('%I.%I', table_schema, table_name) as name from information_schema.tables
    where table_type = 'BASE TABLE' and table_schema not in ('information_schema', 'pg_catalog')`
  expect(tables.map(({ name }) => name)).toContain('public.integration_secrets')
  const forms = [
    client_secret,
    Buffer.from(client_secret).toString('hex'),
    Buffer.from(client_secret).toString('base64'),
  ]
  const hits = async (text: string) => {
    const found: string[] = []
    for (const { name } of tables) {
      // Every column of every row as text; bytea as hexadecimal digits, and once more as the bytes it holds.
      const rows = await database.sql.unsafe(`select from ${name} as t where t::text like $1`, [`%${text}%`])
      if (rows.length > 0) found.push(name)
    }
    return found
  }
  for (const form of forms) expect(await hits(form)).toEqual([])
  expect(await hits(client_id)).toEqual(['public.integrations'])
})
