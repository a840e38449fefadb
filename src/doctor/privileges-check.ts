import type { Sql } from 'postgres'
import { firstThree } from '../errors.ts'
import { excessPrivileges } from '../postgres/privileges/excess.ts'
import { missingPrivileges } from '../postgres/privileges/missing.ts'
import { LOAD, type Purpose, SERVE } from '../postgres/privileges/purposes.ts'
import { OPERATOR_TABLES } from '../postgres/privileges/serve.ts'
import { type Finding, ok, wrong } from './finding.ts'

/** What the role of DATABASE_URL is good for: everything, serving or loading; and whether it can do more. */
export async function checkPrivileges(db: Sql): Promise<Finding> {
  const [role] = await db<{ name: string; schema: string | null; operates: boolean | null }[]>`
    select current_user as name, current_schema() as schema, (
      select bool_and(has_table_privilege(to_regclass(t.name), p.name))
      from unnest(${OPERATOR_TABLES}::text[]) as t (name)
      cross join unnest('{select,insert,update,delete}'::text[]) as p (name)
    ) as operates`
  if (!role) throw new Error('the server did not name the role')
  const { name, schema, operates } = role
  const unserved =
    schema === null ? [{ what: 'usage on the schema' }] : await missingPrivileges(db, name, SERVE)
  if (unserved.length === 0) {
    return operates ? ok('privileges', `${name} can serve, import and provision`) : enough(db, name, SERVE)
  }
  if (schema !== null && (await missingPrivileges(db, name, LOAD)).length === 0) return enough(db, name, LOAD)
  return wrong(
    'privileges',
    `${name} lacks ${unserved.map(({ what }) => what).join(', ')}: axport migrate --grant ${forShell(name)}`,
  )
}

async function enough(db: Sql, role: string, purpose: Purpose): Promise<Finding> {
  const excess = await excessPrivileges(db, role, purpose)
  return ok(
    'privileges',
    excess.length === 0
      ? `${role} can ${purpose.verb} and nothing more`
      : `${role} can ${purpose.verb}, and has more than that needs: ${firstThree(excess.map(({ what }) => what))}`,
  )
}

/** A name as a shell takes it for one word. */
function forShell(name: string): string {
  return /^[\w.@-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`
}
