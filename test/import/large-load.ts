import type { Sql } from 'postgres'
import { assessment, educator, multiPart, ndjsonOf, product, REFERENCED, range } from '../support/fixtures.ts'

/** Enough rows for a bulk load, which drops indexes and foreign keys and creates them at its end. */
export const ASSESSMENTS = 20_000

/** Five hundred educators; every tenth assessment has two parts, and is of product 2. */
export const SAMPLE = ndjsonOf([
  ...[...REFERENCED, product(2), ...range(500, at => educator(1000 + at))],
  ...range(ASSESSMENTS, at => {
    const [id, user_id] = [100_000 + 3 * at, 1000 + (at % 500)]
    return at % 10 === 0
      ? multiPart(id, [id + 1, id + 2], { user_id, product_id: 2 })
      : assessment(id, { user_id })
  }),
])

/**
 * The indexes, constraints and triggers that a bulk load may drop: their definitions, and whether they are
 * valid.
 */
export const definitions = (sql: Sql) => sql`
  select conname as name, pg_get_constraintdef(oid) as definition, convalidated as holds
  from pg_constraint where connamespace = current_schema()::regnamespace
  union all
  select indexrelid::regclass::text, pg_get_indexdef(indexrelid), indisvalid
  from pg_index where indrelid in (select oid from pg_class where relnamespace = current_schema()::regnamespace)
  union all
  select tgname::text, pg_get_triggerdef(oid), tgenabled = 'O' from pg_trigger where not tgisinternal
  order by 1, 2`
