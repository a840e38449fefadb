import { expect, test } from 'bun:test'
import { Column as DrizzleColumn, is, type SQL } from 'drizzle-orm'
import { getTableConfig, getViewConfig, PgDialect, PgTable, PgView } from 'drizzle-orm/pg-core'
import * as schema from '../../db/schema.ts'
import { MIGRATIONS, relationsOf } from '../../src/database/migrations.ts'
import { useTestDatabase } from '../support/hooks.ts'

/**
 * Tables and columns that no drizzle statement uses: those of the migrations, of plain SQL, and of functions.
 */
const LEFT_OUT = [
  'schema_migrations',
  'users',
  'assessments',
  'assessment_parts',
  'export_counts',
  'feeds',
  'removals',
  'last_backup',
  'live_tokens',
  'export_records_rendered',
  'export_people_rendered',
  'export_products_rendered',
]

interface Column {
  table: string
  name: string
  type: string
  isNullable: boolean
  hasDefault: boolean
  /** "always" or "byDefault". */
  identity: string | null
  /** Whether the column is computed from other columns. */
  isGenerated: boolean
}

const tables = Object.values(schema)
  .filter(value => is(value, PgTable))
  .map(getTableConfig)

const views = Object.values(schema)
  .filter(value => is(value, PgView))
  .map(getViewConfig)

const db = useTestDatabase()

const byText = (rows: object[]) => rows.map(row => JSON.stringify(row)).sort()

test('db/schema.ts has exactly the tables and views that drizzle statements use', async () => {
  const rows = await db.sql<{ name: string; isView: boolean }[]>`
    select relname as name, relkind = 'v' as "isView" from pg_class
    where relnamespace = 'public'::regnamespace and relkind not in ('i', 'I', 'S', 't', 'c')`
  const expected = rows.filter(row => !LEFT_OUT.includes(row.name))
  const named = (isView: boolean) => expected.filter(row => row.isView === isView).map(row => row.name)
  expect(tables.map(table => table.name).sort()).toEqual(named(false).sort())
  expect<string[]>(views.map(view => view.name).sort()).toEqual(named(true).sort())
  expect(rows.map(row => row.name)).toEqual(expect.arrayContaining(LEFT_OUT))
  expect([...tables, ...views].map(relation => relation.schema).filter(name => name !== undefined)).toEqual(
    [],
  )
})

test('db/schema.ts and the database agree on every column: type, nullability, default, identity, generation', async () => {
  const actual = await db.sql<Column[]>`
    select
      attrelid::regclass::text as table,
      attname as name,
      format_type(atttypid, atttypmod) as type,
      not attnotnull as "isNullable",
      atthasdef and attgenerated = '' as "hasDefault",
      case attidentity when 'a' then 'always' when 'd' then 'byDefault' end as identity,
      attgenerated <> '' as "isGenerated"
    from pg_attribute join pg_class c on c.oid = attrelid
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and attnum > 0 and not attisdropped
      and relname <> all (${LEFT_OUT})`
  const described = tables.flatMap(table =>
    table.columns.map((column): Column => {
      const identity = column.generatedIdentity?.type ?? null
      return {
        table: table.name,
        name: column.name,
        type: column.getSQLType(),
        isNullable: !column.notNull,
        hasDefault: column.hasDefault && identity === null && column.generated === undefined,
        identity,
        isGenerated: column.generated !== undefined,
      }
    }),
  )
  expect(byText(described)).toEqual(byText([...actual]))
})

test('db/schema.ts and the database agree on the columns of every view', async () => {
  const actual = await db.sql<{ view: string; name: string; type: string }[]>`
    select attrelid::regclass::text as view, attname as name, format_type(atttypid, atttypmod) as type
    from pg_attribute join pg_class c on c.oid = attrelid
    where relnamespace = 'public'::regnamespace and relkind = 'v' and attnum > 0 and relname <> all (${LEFT_OUT})`
  const described = views.flatMap(view =>
    Object.values(view.selectedFields)
      .filter(column => is(column, DrizzleColumn))
      .map(column => ({ view: view.name, name: column.name, type: column.getSQLType() })),
  )
  expect(described.length).toBeGreaterThan(0)
  expect(byText(described)).toEqual(byText([...actual]))
})

test('db/schema.ts and the database agree on the expression of every generated column', async () => {
  const rows = await db.sql<{ table: string; name: string; expression: string }[]>`
    select attrelid::regclass::text as table, attname as name, pg_get_expr(adbin, adrelid) as expression
    from pg_attrdef join pg_attribute on attrelid = adrelid and attnum = adnum join pg_class c on c.oid = adrelid
    where relnamespace = 'public'::regnamespace and attgenerated <> ''`
  const described = tables.flatMap(table =>
    table.columns.flatMap(({ name, generated }) =>
      generated
        ? [{ table: table.name, name, expression: new PgDialect().sqlToQuery(generated.as as SQL).sql }]
        : [],
    ),
  )
  expect(described.length).toBeGreaterThan(0)
  expect(byText(described)).toEqual(byText([...rows]))
})

test('db/schema.ts and the database agree on the value of every default', async () => {
  const rows = await db.sql<{ table: string; name: string; type: string; expression: string }[]>`
    select attrelid::regclass::text as table, attname as name, format_type(atttypid, atttypmod) as type,
           pg_get_expr(adbin, adrelid) as expression
    from pg_attrdef join pg_attribute on attrelid = adrelid and attnum = adnum join pg_class c on c.oid = adrelid
    where relnamespace = 'public'::regnamespace and attgenerated = '' and relname <> all (${LEFT_OUT})`
  expect(rows.length).toBeGreaterThan(0)
  for (const { table, name, type, expression } of rows) {
    const column = tables.find(known => known.name === table)?.columns.find(known => known.name === name)
    const described = column?.default as SQL | string | boolean
    const text = typeof described === 'object' ? new PgDialect().sqlToQuery(described).sql : `'${described}'`
    const [row] = await db.sql.unsafe(
      `select (${text})::${type} is not distinct from (${expression}) as same`,
    )
    // Random defaults cannot be compared by value.
    expect({ table, name, same: row?.same || text === expression }).toEqual({ table, name, same: true })
  }
})

test('db/schema.ts and the database agree on primary keys and unique columns', async () => {
  // drizzle cannot describe a deferrable key, and no statement of the service depends on one.
  const actual = await db.sql<{ table: string; type: string; columns: string }[]>`
    select conrelid::regclass::text as table, contype::text as type, string_agg(attname, ',' order by at) as columns
    from pg_constraint, unnest(conkey) with ordinality as key (number, at), pg_attribute
    where connamespace = 'public'::regnamespace and contype in ('p', 'u') and not condeferrable
      and attrelid = conrelid and attnum = number and conrelid::regclass::text <> all (${LEFT_OUT})
    group by conrelid, conname, contype`
  const described = tables.flatMap(table => [
    ...table.columns.filter(column => column.primary).map(column => key(table.name, 'p', [column])),
    ...table.columns.filter(column => column.isUnique).map(column => key(table.name, 'u', [column])),
    ...table.primaryKeys.map(primary => key(table.name, 'p', primary.columns)),
    ...table.uniqueConstraints.map(unique => key(table.name, 'u', unique.columns)),
  ])
  expect(byText(described)).toEqual(byText([...actual]))
})

function key(table: string, type: 'p' | 'u', columns: { name: string }[]) {
  return { table, type, columns: columns.map(column => column.name).join(',') }
}

test('the view export_records_rendered has the columns of export_records, in the same order and with the same types', async () => {
  const columns = async (relation: string) => [
    ...(await db.sql`
      select attname, format_type(atttypid, atttypmod) as type
      from pg_attribute where attrelid = ${relation}::regclass and attnum > 0 and not attisdropped order by attnum`),
  ]
  expect(await columns('export_records_rendered')).toEqual(await columns('export_records'))
})

test('TRIGGERS of db/schema.ts has every trigger, each with its migration', async () => {
  const rows = await db.sql<{ name: string }[]>`
    select tgrelid::regclass || '.' || tgname as name from pg_trigger where not tgisinternal`
  const listed = schema.TRIGGERS.flatMap(({ tables, suffixes }) =>
    tables.flatMap(table => suffixes.map(suffix => `${table}.${table}_${suffix}`)),
  )
  expect(listed.sort()).toEqual(rows.map(({ name }) => name).sort())
  for (const { migration, suffixes } of schema.TRIGGERS)
    for (const suffix of suffixes)
      expect(MIGRATIONS.find(({ name }) => name === migration)?.sql).toMatch(
        new RegExp(`create trigger\\s(\\w+|%1\\$s)_${suffix}\\s`),
      )
})

test('relationsOf() finds all tables and views of the migrations, and the table of their record', async () => {
  const rows = await db.sql<{ name: string }[]>`
    select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm')`
  expect(relationsOf(MIGRATIONS).sort()).toEqual(rows.map(({ name }) => name).sort())
})
