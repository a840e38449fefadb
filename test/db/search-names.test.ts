import { describe, expect, test } from 'bun:test'
import { useTestDatabase } from '../support/hooks.ts'
import { undone } from './source.ts'

/**
 * The names that searches read follow the source tables. All names here are ASCII letters, which lower()
 * folds equally in every locale.
 */

const SETUP = `
  insert into organizations values (1, 'Lakeside');
  insert into products values (1, 'Reading'), (2, 'Writing');
  insert into users (id, name, first_name, last_name) values
    (1, 'A', 'Ana', 'Ruiz'), (2, 'B', 'Bo', 'Li'), (3, 'C', 'Cy', 'Of
two'), (4, 'Named once', '', '');
  insert into assessments values (1, 1, 1, 1, now());
  insert into assessment_parts values (1, 1, 1, null, null, 2)`

const WRITES = [
  `insert into users (id, name, first_name, last_name) values (5, 'E', 'Eva', 'MIXED'), (6, 'F', 'Flo', 'Ray')`,
  `update users set first_name = 'New' where id in (1, 2)`,
  `update users set last_name = first_name`,
  `update users set id = 40 where id = 4`,
  `delete from users where id in (3, 4)`,
  `with gone as (delete from users where id = 4 returning id)
   insert into users (id, name, first_name) select id, 'D', 'Dora' from gone`,
  `insert into users (id, name) values (4, 'D'), (7, 'G')
   on conflict (id) do update set first_name = 'Conflict', name = excluded.name`,
  `merge into users u using (values (1, 'Merged'), (8, 'Came')) as v (id, name) on u.id = v.id
   when matched then update set first_name = v.name when not matched then insert (id, name) values (v.id, v.name)`,
  `truncate users cascade`,
  `insert into products values (3, 'Third'), (4, 'FOURTH of
all')`,
  `update products set name = 'Renamed'`,
  `update products set id = 20 where id = 2`,
  `delete from products where id = 2`,
  `truncate products cascade`,
]

describe('the names that a search reads', () => {
  const db = useTestDatabase()

  const line = (name: string) => name.toLowerCase().replaceAll('\n', ' ')

  test.each(WRITES)('equal the names of the source after: %s', async write => {
    await undone(db.sql, async sql => {
      await sql.unsafe(SETUP)
      await sql.unsafe(write)
      const people = await sql`select user_id as id, names_key as names from export_people order by 1`
      const users = await sql`select id, first_name, last_name from users order by 1`
      expect([...people]).toEqual(
        users.map(({ id, first_name, last_name }) => ({
          id,
          names: `${line(first_name)}\n${line(last_name)}\n`,
        })),
      )
      const names = await sql`select product_id as id, name_key as name from export_products order by 1`
      const products = await sql`select id, name from products order by 1`
      expect([...names]).toEqual(products.map(({ id, name }) => ({ id, name: line(name) })))
    })
  })

  test('are not written if another column of a person changes', async () => {
    await db.sql.unsafe(SETUP)
    const versions = () => db.sql`select user_id, xmin::text, ctid::text from export_people order by 1`
    const before = [...(await versions())]
    await db.sql`update users set email = 'a@example.org', name = 'Other'`
    expect([...(await versions())]).toEqual(before)
    expect(before).toHaveLength(4)
  })
})
