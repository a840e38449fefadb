import { expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { rawStatement, rowOf, statement } from '../../src/postgres/statement.ts'
import { useTestDatabase } from '../support/hooks.ts'

const database = useTestDatabase()

test('the columns of a raw row have the names under which the statement selects them', async () => {
  const given = sql`${sql.placeholder('n')}::int`
  const columns = rowOf({ later: sql`2`, toldBy: sql`'é'::text`, missing: sql`null`, first: given })
  const query = sql`select ${columns.list}, 'more' as more`
  const [row] = await rawStatement<{ n: number }>(query)(database.sql, { n: 1 })
  const named = columns.read(row ?? [])
  expect(named).toEqual({
    later: Buffer.from('2'),
    toldBy: Buffer.from('é'),
    missing: null,
    first: Buffer.from('1'),
  })
  const [selected] = await statement<{ n: number }, object>(query)(database.sql, { n: 1 })
  expect(Object.keys(selected ?? {})).toEqual([...Object.keys(named), 'more'])
})
