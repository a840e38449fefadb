import type { Sql } from 'postgres'
import { Failure } from '../errors.ts'
import { currentRole, missingPrivileges, namesOf } from '../postgres/privileges/compare.ts'
import { excessPrivileges } from '../postgres/privileges/excess.ts'
import { BACK_UP, LOAD, OPERATE, SERVE } from '../postgres/privileges/purposes.ts'
import { MIGRATIONS } from '../postgres/schema/migrations.ts'
import { requireUsableSchema } from '../postgres/schema/schema-record.ts'
import { canRead, type Finding, failed, ok, skipped, warning, wrong } from './finding.ts'

/** Compares the schema and its indexes; 'unknown' if the role cannot read the record of migrations, or that failed. */
export async function checkSchema(
  db: Sql,
): Promise<{ finding: Finding; state: 'current' | 'unknown' | 'other' }> {
  try {
    if (!(await canRead(db, 'schema_migrations'))) {
      const finding = skipped('schema', 'this role cannot read schema_migrations: see its privileges')
      return { finding, state: 'unknown' }
    }
    const { ahead } = await requireUsableSchema(db)
    return { finding: await currentFinding(db, ahead), state: 'current' }
  } catch (error) {
    return { finding: failed('schema', error), state: error instanceof Failure ? 'other' : 'unknown' }
  }
}

/** Names each index that is missing or not valid, by the statement that restores it. */
async function currentFinding(db: Sql, ahead: string[]): Promise<Finding> {
  const rows = await db<{ name: string; isInvalid: boolean }[]>`
    select name, i.indexrelid is not null as "isInvalid"
    from unnest(${[...INDEXES.keys()]}::text[]) as name
    left join pg_index i on i.indexrelid = to_regclass(name)
    where not coalesce(i.indisvalid, false)`
  const repairs = rows.map(({ name, isInvalid }) => (isInvalid ? `reindex index ${name}` : INDEXES.get(name)))
  if (repairs.length > 0)
    return wrong(
      'schema',
      `an index is missing or not valid, which makes requests slow: ${repairs.join('; ')}`,
    )
  if (ahead.length === 0) return ok('schema', 'current')
  const names = `${ahead.length} (${ahead.join(', ')})`
  return warning('schema', `ahead by ${names}, from which this axport can serve: upgrade it`)
}

/** By name: the statement of each index that the migrations create, besides those of constraints. */
const INDEXES = new Map<string, string>()
for (const { sql } of MIGRATIONS)
  for (const [statement, name = ''] of sql.matchAll(/^create (?:unique )?index (\w+)[^;]*/gm))
    INDEXES.set(name, statement.replaceAll(/\s+/g, ' '))

/** Whether the role of DATABASE_URL can do everything, serve or load; and what it can do beyond that. */
export async function checkPrivileges(db: Sql): Promise<Finding> {
  const role = await currentRole(db)
  const serving = await missingPrivileges(db, SERVE)
  const operating = await missingPrivileges(db, OPERATE)
  if (serving.length + operating.length === 0)
    return ok('privileges', `${role} can serve, import and provision`)
  for (const purpose of [SERVE, LOAD, BACK_UP]) {
    if ((await missingPrivileges(db, purpose)).length > 0) continue
    const excess = await excessPrivileges(db, role, purpose)
    const more =
      excess.length === 0 ? ' and nothing more' : `, and has more than that needs: ${namesOf(excess)}`
    return ok('privileges', `${role} can ${purpose.ability}${more}`)
  }
  const names = serving.map(({ name }) => name).join(', ')
  return wrong('privileges', `${role} lacks ${names}: axport migrate --grant ${quotedForShell(role)}`)
}

/** A name as one word of a shell command. */
function quotedForShell(name: string): string {
  return /^[\w.@-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`
}
