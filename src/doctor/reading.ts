import type { Sql } from 'postgres'

/** Which of these tables and views the role may not read; one that does not exist is not among them. */
export async function unreadable(db: Sql, ...tables: string[]): Promise<string[]> {
  const rows = await db<{ name: string }[]>`
    select name from unnest(${tables}::text[]) with ordinality as t (name, position)
    where not has_table_privilege(to_regclass(name), 'select')
    order by position`
  return rows.map(row => row.name)
}
