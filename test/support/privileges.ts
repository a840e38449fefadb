import type { Sql } from 'postgres'
import { quoted } from './roles.ts'

/** A statement that shows whether its role has a privilege, and the name of that privilege. */
interface Probe {
  privilege: string
  /** If every probe of a group is allowed, the result has this name instead of the privileges. */
  group: string
  statement: string
}

/** The SQLSTATE of a missing privilege, and those of operations that no role can carry out. */
const DENIED = ['42501', '55000', '0A000']

/**
 * The privileges of a role on the tables, views, sequences and functions of the schema public, as "select table", or as
 * "select table.column" if not every column is allowed. Each privilege is tried, and rolled back.
 * @param sql a connection of the role
 * @param owner a connection of the owner, who can read the whole catalog
 */
export async function privilegesOf(sql: Sql, owner: Sql): Promise<string[]> {
  const probes = [...(await tableProbes(owner)), ...(await otherProbes(owner))]
  const areAllowed = await tryAll(
    sql,
    probes.map(({ statement }) => statement),
  )
  return [...Map.groupBy(probes.entries(), ([, { group }]) => group)]
    .flatMap(([group, members]) => {
      const allowed = members.filter(([index]) => areAllowed[index])
      return allowed.length === members.length ? [group] : allowed.map(([, { privilege }]) => privilege)
    })
    .sort()
}

/**
 * Whether each statement passes the check of privileges, even if it fails later. Every statement is rolled back. The
 * server tries all of them in one round trip, for there are hundreds.
 */
async function tryAll(sql: Sql, statements: string[]): Promise<boolean[]> {
  return await sql.begin(async transaction => {
    await transaction`select set_config('axport.probes', ${JSON.stringify(statements)}, true)`
    await transaction.unsafe(`
      do $$
      declare
        statement text;
        outcomes text[] := '{}';
      begin
        for statement in select jsonb_array_elements_text(current_setting('axport.probes')::jsonb) loop
          begin
            execute statement;
            raise exception 'rolled back';
          exception when others then
            outcomes := outcomes || sqlstate;
          end;
        end loop;
        perform set_config('axport.outcomes', to_json(outcomes)::text, true);
      end $$`)
    const [row] = await transaction<
      { outcomes: string }[]
    >`select current_setting('axport.outcomes') as outcomes`
    return (JSON.parse(row?.outcomes ?? '') as string[]).map(code => !DENIED.includes(code))
  })
}

async function tableProbes(owner: Sql): Promise<Probe[]> {
  const tables = await owner<{ name: string; isView: boolean; columns: string[] }[]>`
    select c.relname as name, c.relkind = 'v' as "isView", array_agg(a.attname::text order by a.attnum) as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
      and a.attnum > 0 and not a.attisdropped
    group by c.oid order by c.relname`
  return tables.flatMap(({ name, isView, columns }) => {
    const table = quoted(name)
    const byColumn = columns.flatMap(column => {
      const probe = (verb: string, statement: string): Probe => ({
        privilege: `${verb} ${name}.${column}`,
        group: `${verb} ${name}`,
        statement,
      })
      return [
        probe('select', `select ${quoted(column)} from ${table} where false`),
        probe('insert', `insert into ${table} (${quoted(column)}) values (default)`),
        probe('update', `update ${table} set ${quoted(column)} = default where false`),
      ]
    })
    const whole = (verb: string, statement: string): Probe => ({
      privilege: `${verb} ${name}`,
      group: `${verb} ${name}`,
      statement,
    })
    return [
      ...byColumn,
      whole('delete', `delete from ${table} where false`),
      ...(isView ? [] : [whole('truncate', `truncate ${table}`)]),
      ...['references', 'trigger'].map(verb =>
        whole(verb, mustBeTrue(`has_table_privilege('${table}', '${verb}')`)),
      ),
    ]
  })
}

async function otherProbes(owner: Sql): Promise<Probe[]> {
  const sequences = await owner<{ name: string }[]>`
    select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'S'`
  const functions = await owner<{ name: string; types: string[] }[]>`
    select p.proname as name, array(
      select format_type(type, null) from unnest(p.proargtypes) with ordinality as t (type, position) order by position
    ) as types
    from pg_proc p
    where p.pronamespace = 'public'::regnamespace
      and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')`
  const probe = (privilege: string, statement: string): Probe => ({ privilege, group: privilege, statement })
  const value = (type: string) => (type === 'bigint[]' ? `'{9001}'::bigint[]` : `null::${type}`)
  return [
    ...sequences.flatMap(({ name }) => [
      probe(`use ${name}`, `select nextval('${quoted(name)}')`),
      probe(`set ${name}`, `select setval('${quoted(name)}', 1)`),
      probe(`select ${name}`, `select last_value from ${quoted(name)}`),
    ]),
    ...functions.map(({ name, types }) =>
      probe(`execute ${name}(${types.join(', ')})`, `select ${quoted(name)}(${types.map(value).join(', ')})`),
    ),
    probe('create in public', 'create table public.made_by_the_role (id bigint)'),
    probe('create schemas', 'create schema made_by_the_role'),
    probe('alter tables', 'alter table export_records disable trigger user'),
  ]
}

/** A statement that raises insufficient_privilege if the condition is false. */
const mustBeTrue = (condition: string) =>
  `do $$ begin if not ${condition} then raise insufficient_privilege; end if; end $$`
