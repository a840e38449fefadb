import type { Sql } from 'postgres'
import { excessPrivileges, missingPrivileges, namesOf } from '../postgres/privileges/compare.ts'
import { LOAD, type Purpose, SERVE } from '../postgres/privileges/purposes.ts'
import { type Finding, ok, wrong } from './finding.ts'

/** The tables that a role needs all of to import and to provision. */
const OPERATOR_TABLES = [
  ...['organizations', 'products', 'users', 'assessments', 'assessment_parts', 'export_state'],
  ...['export_records', 'export_people', 'export_products', 'integrations', 'integration_secrets'],
]

/** Whether the role of DATABASE_URL can do everything, serve or load; and what it can do beyond that. */
export async function checkPrivileges(db: Sql): Promise<Finding> {
  const [role] = await db<{ name: string; schema: string | null; operates: boolean | null }[]>`
    select current_user as name, current_schema() as schema, (
      select bool_and(has_table_privilege(to_regclass(t.name), p.name))
      from unnest(${OPERATOR_TABLES}::text[]) as t (name)
      cross join unnest('{select,insert,update,delete}'::text[]) as p (name)
    ) as operates`
  if (!role) throw new Error('the server did not name the role')
  const { name, schema, operates } = role
  const missing =
    schema === null ? [{ name: 'usage on the schema' }] : await missingPrivileges(db, name, SERVE)
  if (missing.length === 0 && operates) return ok('privileges', `${name} can serve, import and provision`)
  if (missing.length === 0) return excessFinding(db, name, SERVE)
  if (schema !== null && (await missingPrivileges(db, name, LOAD)).length === 0)
    return excessFinding(db, name, LOAD)
  return wrong(
    'privileges',
    `${name} lacks ${missing.map(({ name }) => name).join(', ')}: axport migrate --grant ${quotedForShell(name)}`,
  )
}

async function excessFinding(db: Sql, role: string, purpose: Purpose): Promise<Finding> {
  const excess = await excessPrivileges(db, role, purpose)
  return ok(
    'privileges',
    excess.length === 0
      ? `${role} can ${purpose.verb} and nothing more`
      : `${role} can ${purpose.verb}, and has more than that needs: ${namesOf(excess)}`,
  )
}

/** A name as one word of a shell command. */
function quotedForShell(name: string): string {
  return /^[\w.@-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`
}
