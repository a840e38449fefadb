import type { TransactionSql } from 'postgres'
import { Failure, firstThree } from '../../errors.ts'
import { LOCKS } from '../schema/locks.ts'
import { onlyRow } from '../statement.ts'
import { type CommandSql, transact } from '../transaction/transact.ts'
import { missingPrivileges, namesOf } from './compare.ts'
import { excessPrivileges } from './excess.ts'
import type { Purpose } from './purposes.ts'

/**
 * Grants a role exactly what its purpose needs, and revokes everything else that it was granted in this schema. It is to
 * be repeated after every migration, and can run twice at once.
 * @throws Failure, and changes nothing, for a role that does not exist, owns the tables or is a superuser, or that would
 * still have more in another way or less, because the user of this command cannot grant it
 */
export async function grantFor(db: CommandSql, role: string, purpose: Purpose): Promise<void> {
  await transact(db, async sql => {
    // Of two transactions that change the privileges of one table at the same moment, Postgres fails one.
    await sql`select pg_advisory_xact_lock(${LOCKS.schema})`
    const statements = await statementsFor(sql, role, purpose)
    try {
      await sql.savepoint(async savepoint => {
        for (const statement of statements) await savepoint.unsafe(statement)
      })
    } catch (error) {
      // Insufficient privilege: a user who cannot grant gets this error without a privilege on the object itself, and a
      // warning with one. The result is checked in both cases.
      if ((error as { code?: string }).code !== '42501') throw error
    }
    await requireExactly(sql, role, purpose)
  })
}

/** Statements that revoke everything that was granted to the role itself, single columns included, and grant its needs. */
async function statementsFor(sql: TransactionSql, role: string, purpose: Purpose): Promise<string[]> {
  const rows = await sql<
    { isSuperuser: boolean | null; grantee: string; database: string; schema: string }[]
  >`
    select rolsuper as "isSuperuser", quote_ident(name) as grantee, quote_ident(current_database()) as database,
      quote_ident(current_schema()) as schema
    from (select ${role}::text as name) as given left join pg_roles on rolname = name`
  const { isSuperuser, grantee, database, schema } = onlyRow(rows)
  if (isSuperuser === null)
    throw new Failure(`there is no role ${role}: create it with create role ${grantee} login password '…'`)
  // pg_shdepend has an entry of type o for the owner of an object, and one of type a for each other role in the access
  // list of the object, except predefined roles: requireExactly() finds what these have.
  const objects = await sql<{ isOwned: boolean; name: string }[]>`
    select distinct deptype = 'o' as "isOwned", format('%s %s', case
      when deptype = 'o' then type
      when classid = 'pg_proc'::regclass then 'routine'
      when classid = 'pg_class'::regclass then 'table'
      else type
    end, identity) as name
    from pg_shdepend cross join pg_identify_object(classid, objid, 0)
    where deptype in ('a', 'o') and refclassid = 'pg_authid'::regclass and refobjid = ${grantee}::regrole
      and dbid in (0, (select oid from pg_database where datname = current_database()))
      and (schema = ${schema} or (type, identity) in (('schema', ${schema}), ('database', ${database})))
    order by name`
  const owned = objects.filter(({ isOwned }) => isOwned).map(({ name }) => name)
  const power = isSuperuser ? 'is a superuser' : `owns ${firstThree(owned)}`
  if (isSuperuser || owned.length > 0)
    throw new Failure(
      `${role} ${power}, and can do more than axport ${purpose.command} needs: give that a role of its own`,
    )
  return [
    ...objects.map(({ name }) => `revoke all on ${name} from ${grantee}`),
    ...[
      `${purpose.database.join(', ')} on database ${database}`,
      `usage on schema ${schema}`,
      ...purpose.privileges,
      ...purpose.functions.map(name => `execute on function ${name}`),
    ].map(what => `grant ${what} to ${grantee}`),
  ]
}

/** Privileges by way of PUBLIC or of another role are not revoked here: others may depend on them. */
async function requireExactly(sql: TransactionSql, role: string, purpose: Purpose): Promise<void> {
  const missing = await missingPrivileges(sql, purpose, role)
  const owners = [...new Set(missing.map(({ owner }) => owner))]
  const grantor = owners.length === 1 ? owners[0] : `a superuser (they belong to ${owners.join(', ')})`
  if (missing.length > 0)
    throw new Failure(
      `${role} would still lack ${namesOf(missing)}, which only the owner can grant: run this command as ${grantor}`,
    )
  const excess = await excessPrivileges(sql, role, purpose)
  const remedies = [...new Set(excess.map(({ remedy }) => remedy))]
  if (excess.length > 0)
    throw new Failure(
      `${role} would still have ${namesOf(excess)}, which axport ${purpose.command} does not need: ${remedies.join('; ')}, and try again`,
    )
}
