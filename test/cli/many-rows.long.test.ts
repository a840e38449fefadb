import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { tableOf } from '../../src/cli/output.ts'
import { cleanUp, emptyFolder, shell } from '../support/executable.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'

const ROWS = 20_000

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase()
  const { sql } = database
  await sql`insert into erasures (user_id) select generate_series(1, ${ROWS})`
  await sql`
    insert into integrations (client_id, name) select 'client' || n, 'Integration ' || n from generate_series(1, ${ROWS}) n`
  await sql`
    insert into integration_history (client_id, name, event, changes, host)
    select client_id, name, 'created', '{}', 'host' from integrations`
  await sql`
    insert into disclosures (key, client_id, request_id, assessment_ids, user_ids)
    select gen_random_uuid(), client_id, 'request', '{1}', '{1}' from integrations`
})
afterAll(async () => {
  await cleanUp()
  await database.close()
})

const COMMANDS: [command: string, heading: RegExp][] = [
  ['erasures', /^user id/],
  ['integration list', /^client id/],
  ['integration history', /^time/],
  ['disclosures', /^client id/],
  ['disclosures --each', /^time/],
]

const options = () => ({ cwd: emptyFolder(), env: { DATABASE_URL: database.url } })

describe('of tens of thousands of rows,', () => {
  test.each(COMMANDS)('axport %s prints all into a file', async (command, heading) => {
    const { cwd, env } = options()
    expect(await shell(`"$AXPORT" ${command} >file`, { cwd, env })).toMatchObject({ code: 0, stdout: '' })
    const [first, ...lines] = readFileSync(join(cwd, 'file'), 'utf8').trimEnd().split('\n')
    expect(first).toMatch(heading)
    expect(new Set(lines).size).toBe(ROWS)
  })

  test.each(COMMANDS)('axport %s --json prints all into a pipe', async command => {
    const { code, stdout } = await shell(`"$AXPORT" ${command} --json`, options())
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toHaveLength(ROWS)
  })
})

test('a table has as many rows as it was given, also more than one call of a function can have arguments', () => {
  const rows = Array.from({ length: 1_000_000 }, (_, at) => [String(at)])
  expect(tableOf(['number'], rows)).toEndWith('\n999999\n')
})
