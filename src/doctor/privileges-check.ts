import type { Sql } from 'postgres'
import { excessPrivileges } from '../postgres/excess-privileges.ts'
import { OPERATOR_TABLES, SERVE_FUNCTION, SERVE_PRIVILEGES } from '../postgres/serve-privileges.ts'
import { type Finding, ok, wrong } from './finding.ts'

/** Whether the role of DATABASE_URL can do what serve does, and whether it can do more. */
export async function checkPrivileges(db: Sql): Promise<Finding> {
  const [role] = await db<{ name: string; schema: string | null; operates: boolean | null }[]>`
    select current_user as name, current_schema() as schema, (
      select bool_and(has_table_privilege(to_regclass(t.name), p.name))
      from unnest(${OPERATOR_TABLES}::text[]) as t (name)
      cross join unnest('{select,insert,update,delete}'::text[]) as p (name)
    ) as operates`
  if (!role) throw new Error('the server did not name the role')
  const missing = role.schema === null ? ['usage on the schema'] : await missingPrivileges(db)
  if (missing.length > 0) {
    const grant = `axport migrate --grant ${forShell(role.name)}`
    return wrong('privileges', `${role.name} lacks ${missing.join(', ')}: ${grant}`)
  }
  if (role.operates) return ok('privileges', `${role.name} can serve, import and provision`)
  const excess = await excessPrivileges(db, role.name)
  const more = excess.length > 3 ? ` and ${excess.length - 3} more` : ''
  const what = excess.slice(0, 3).map(({ what }) => what)
  return ok(
    'privileges',
    excess.length === 0
      ? `${role.name} can serve and nothing more`
      : `${role.name} can serve, and has more than that needs: ${what.join(', ')}${more}`,
  )
}

async function missingPrivileges(db: Sql): Promise<string[]> {
  const missing: string[] = []
  for (const { table, privilege, columns = [null] } of SERVE_PRIVILEGES) {
    for (const column of columns) {
      const [row] = await db<{ has: boolean | null }[]>`
        select ${
          column === null
            ? db`has_table_privilege(to_regclass(${table}), ${privilege})`
            : db`has_column_privilege(to_regclass(${table}), ${column}, ${privilege})`
        } as has`
      if (!row?.has) missing.push(`${privilege} on ${table}`)
    }
  }
  const [row] = await db<{ has: boolean | null }[]>`
    select has_function_privilege(to_regprocedure(${SERVE_FUNCTION}), 'execute') as has`
  if (!row?.has) missing.push(`execute on function ${SERVE_FUNCTION}`)
  return missing
}

/** A name as a shell takes it for one word. */
function forShell(name: string): string {
  return /^[\w.@-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`
}
