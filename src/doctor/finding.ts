import type { Sql } from 'postgres'

/** The outcome of one check. `wrong` makes the command fail; `warning` does not. */
export interface Finding {
  check: string
  status: 'ok' | 'warning' | 'wrong' | 'skipped'
  /** The state that was found and, unless it is fine, the remedy. */
  detail: string
}

const outcome =
  (status: Finding['status']) =>
  (check: string, detail: string): Finding => ({ check, status, detail })

export const ok = outcome('ok')
export const warning = outcome('warning')
export const wrong = outcome('wrong')
export const skipped = outcome('skipped')

/** The tables and views of this list that the role cannot read. A relation that does not exist is left out. */
export async function unreadable(db: Sql, ...tables: string[]): Promise<string[]> {
  const rows = await db<{ name: string }[]>`
    select name from unnest(${tables}::text[]) with ordinality as t (name, position)
    where not has_table_privilege(to_regclass(name), 'select')
    order by position`
  return rows.map(row => row.name)
}

/** A check of one table, which is skipped for a role that cannot read the table. */
export function tableCheck(
  check: string,
  table: string,
  run: (db: Sql) => Promise<[status: Finding['status'], detail: string]>,
): (db: Sql) => Promise<Finding> {
  return async db => {
    if ((await unreadable(db, table)).length > 0)
      return skipped(check, `this role cannot read ${table}: see its privileges`)
    const [status, detail] = await run(db)
    return { check, status, detail }
  }
}
