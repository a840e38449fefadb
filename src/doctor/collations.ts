import { sql } from 'drizzle-orm'
import { rowsOf } from '../database/orm.ts'
import { type Db, type Outcome, ok, wrong } from './finding.ts'
import { homeOf } from './tables.ts'

/**
 * Whether the server still has the rules for letters by which the export was built. No index of axport sorts by them: texts are
 * compared by code point. But pg_trgm folds case by the collation of the database, whatever the column says, and sort keys and
 * the names that search looks at are folded by "und-x-icu".
 */
export async function whatServerFoldsAnew(db: Db): Promise<Outcome[]> {
  const home = await homeOf(db)
  const rows = await rowsOf<{ collation: string | null; database: string; was: string; is: string }>(
    db,
    sql`
    select null as collation, quote_ident(datname) as database, datcollversion as was,
      pg_database_collation_actual_version(oid) as is
    from pg_database where datname = current_database() and datcollversion <> pg_database_collation_actual_version(oid)
    union all
    select 'pg_catalog.' || quote_ident(collname), '', collversion, pg_collation_actual_version(oid)
    from pg_collation
    where oid = 'pg_catalog."und-x-icu"'::regcollation and collversion <> pg_collation_actual_version(oid)`,
  )
  if (rows.length === 0) return [ok('the server has the versions that this database was built with')]
  return rows.map(({ collation, database, was, is }) =>
    collation === null
      ? wrong(
          `the database was made with version ${was} of its collation, and the server has ${is}, so that a search may ` +
            `miss people: reindex index concurrently ${home ?? 'public'}.export_people_names_key; ` +
            `alter database ${database} refresh collation version`,
        )
      : wrong(
          `the records were sorted by version ${was} of ${collation}, and the server has ${is}: axport refresh, and then, ` +
            `as a superuser, alter collation ${collation} refresh version`,
        ),
  )
}
