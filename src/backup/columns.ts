import type { TransactionSql } from 'postgres'

/** A column of a table, from the catalog. */
export interface Column {
  name: string
  /** The name as SQL writes it. */
  quoted: string
  type: string
  isArray: boolean
  /** Its position in the primary key, from 1 on; null outside of it. */
  keyPosition: number | null
  /** The database generates its values. */
  isIdentity: boolean
}

/** The columns of a table, without those that are computed from others. */
export async function columnsOf(sql: TransactionSql, table: string): Promise<Column[]> {
  return await sql<Column[]>`
    select
      attname as name,
      quote_ident(attname) as quoted,
      format_type(atttypid, atttypmod) as type,
      typcategory = 'A' as "isArray",
      array_position(conkey, attnum) as "keyPosition",
      attidentity <> '' as "isIdentity"
    from pg_attribute
    join pg_type on pg_type.oid = atttypid
    left join pg_constraint on conrelid = attrelid and contype = 'p'
    where attrelid = to_regclass(${table}) and attnum > 0 and not attisdropped and attgenerated = ''
    order by attnum`
}
