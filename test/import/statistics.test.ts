import { expect, test } from 'bun:test'
import { openDatabase } from '../../src/database/database.ts'
import { organization, range } from '../support/fixtures.ts'
import { importLines, importWith, useDatabase } from '../support/import.ts'
import { succeed } from '../support/operator.ts'
import { useRoles } from '../support/roles.ts'

const database = useDatabase()
const newRole = useRoles()

/** How many organizations the planner expects. */
async function expectedOrganizations(): Promise<number> {
  const [row] = await database.sql<{ expected: number }[]>`
    select reltuples::integer as expected from pg_class where oid = 'organizations'::regclass`
  return Number(row?.expected)
}

test('a role that loads and does not own the tables analyzes one when more than a tenth of it has changed', async () => {
  const role = await newRole()
  await succeed(database.url, 'migrate', '--grant-loader', role.name)
  const loader = await openDatabase(role.url(database.url), 1)
  const load = async (first: number, last: number) => {
    const phases = new Set<string>()
    const lines = range(last - first + 1, at => organization(first + at))
    await importWith(loader.sql, { onProgress: ({ phase }) => phases.add(phase) }, ...lines)
    return { expected: await expectedOrganizations(), isAnalyzed: phases.has('analyzing') }
  }
  expect(await load(1, 100)).toEqual({ expected: 100, isAnalyzed: true })
  expect(await load(1, 100)).toEqual({ expected: 100, isAnalyzed: false })
  expect(await load(101, 110)).toEqual({ expected: 100, isAnalyzed: false })
  expect(await load(111, 111)).toEqual({ expected: 111, isAnalyzed: true })
  await loader.close()
})

test('a load without changes analyzes what was written and not analyzed before it', async () => {
  await importLines(database.sql, organization(1))
  await database.sql.begin(async sql => {
    await sql`insert into organizations select id, 'x' from generate_series(2, 50) as id`
    await sql`select pg_stat_force_next_flush()`
  })
  expect(await importLines(database.sql, organization(1))).toMatchObject({
    summary: { organizations: { unchanged: 1 } },
  })
  expect(await expectedOrganizations()).toBe(50)
})
