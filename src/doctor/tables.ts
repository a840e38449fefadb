import { sql } from 'drizzle-orm'
import { MIGRATIONS, relationsOf } from '../database/migrations.ts'
import { rowsOf, texts } from '../database/orm.ts'
import { whatPathMisses } from '../database/search-path.ts'
import { onlyRow } from '../database/statement.ts'
import { type Db, type Outcome, ok, warning, wrong } from './finding.ts'

/** Whether the search_path leads to axport's tables. Those of a schema that it leads past are as if they were not there. */
export async function whereTablesAre(db: Db): Promise<Outcome> {
  const missed = await whatPathMisses(db)
  if (missed !== undefined) return wrong(missed)
  const home = await homeOf(db)
  return ok(home === undefined ? 'this database has no tables of axport yet' : `leads to the schema ${home}`)
}

/**
 * What comes between statements and the rows of the tables: other tables with their names, rules, and row level security.
 * Pages would lack records, or writes go elsewhere, and nobody would notice.
 */
export async function whatHidesRows(db: Db): Promise<Outcome[]> {
  const home = await homeOf(db)
  if (home === undefined) return [ok('there are none in the search_path')]
  const found = [
    ...(await whatComesEarlier(db, home)),
    ...(await whichRules(db, home)),
    ...(await whichPolicies(db, home)),
  ]
  if (found.length > 0) return found
  return [(await whatPoolerLeavesOut(db, home)) ?? ok('nothing hides or changes their rows')]
}

/** The schema of axport's tables, quoted: that with most of them in the search_path; undefined if there are none. */
export async function homeOf(db: Db): Promise<string | undefined> {
  const [found] = await rowsOf<{ home: string }>(
    db,
    sql`
    select relnamespace::regnamespace::text as home
    from unnest(current_schemas(true)) with ordinality as path (schema, place)
    join pg_class on relnamespace = quote_ident(schema)::regnamespace
    where relname = any (${NAMES()}) and relkind in ('r', 'p', 'v')
    group by relnamespace, place order by count(*) desc, place limit 1`,
  )
  return found?.home
}

const NAMES = () => texts(relationsOf(MIGRATIONS))

/** SQL: tables and views of axport as `c`. */
const ofAxport = (home: string) =>
  sql`c.relnamespace = ${home}::text::regnamespace and c.relname = any (${NAMES()}) and c.relkind in ('r', 'p', 'v')`

async function whatComesEarlier(db: Db, home: string): Promise<Outcome[]> {
  const rows = await rowsOf<{ name: string; schema: string }>(
    db,
    sql`
    select c.relname::text as name, other.relnamespace::regnamespace::text as schema
    from pg_class c join pg_class other on other.oid = to_regclass(quote_ident(c.relname))
    where ${ofAxport(home)} and other.oid <> c.oid order by 1`,
  )
  return rows.map(({ name, schema }) =>
    wrong(
      `${schema}.${name} comes before ${home}.${name} in the search_path of this role, and is used instead: ` +
        `rename or drop ${schema}.${name}`,
    ),
  )
}

async function whichRules(db: Db, home: string): Promise<Outcome[]> {
  const rows = await rowsOf<{ rule: string; name: string }>(
    db,
    sql`
    select quote_ident(r.rulename) as rule, c.relname::text as name
    from pg_rewrite r join pg_class c on c.oid = r.ev_class
    where ${ofAxport(home)} and r.rulename <> '_RETURN' order by 2, 1`,
  )
  return rows.map(({ rule, name }) =>
    wrong(`the rule ${rule} changes what statements do with ${name}: drop rule ${rule} on ${home}.${name}`),
  )
}

/** Those that bind no superuser and no owner bind the role that serves. */
async function whichPolicies(db: Db, home: string): Promise<Outcome[]> {
  const rows = await rowsOf<{ name: string }>(
    db,
    sql`select c.relname::text as name from pg_class c where ${ofAxport(home)} and c.relrowsecurity order by 1`,
  )
  return rows.map(({ name }) =>
    wrong(
      `row level security hides rows of ${name} from some roles, and fails their statements: ` +
        `alter table ${home}.${name} disable row level security`,
    ),
  )
}

/** Whether policies that are made later would hide rows from this role. Superusers and owners see all. */
async function whatPoolerLeavesOut(db: Db, home: string): Promise<Outcome | undefined> {
  const { role, setting, isBound } = onlyRow(
    await rowsOf<{ role: string; setting: string; isBound: boolean }>(
      db,
      sql`
      select quote_ident(rolname) as role, current_setting('row_security') as setting,
        not (rolsuper or rolbypassrls or exists (
          select from pg_class c where ${ofAxport(home)} and pg_has_role(c.relowner, 'usage')
        )) as "isBound"
      from pg_roles where rolname = current_user`,
    ),
  )
  if (setting === 'off' || !isBound) return undefined
  return warning(
    `a pooler does not pass row_security = off on, so that row level security could hide rows from ${role} one day: ` +
      `alter role ${role} set row_security = off`,
  )
}
