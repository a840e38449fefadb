import type { Sql } from 'postgres'
import { Failure } from '../errors.ts'
import { MIGRATIONS } from '../postgres/schema/migrations.ts'
import { compareSchema } from '../postgres/schema/schema-record.ts'
import { type Finding, ok, skipped, warning, wrong } from './finding.ts'
import { unreadable } from './reading.ts'

/** What is known of the schema, and whether the checks of its contents can run. */
interface SchemaState {
  finding: Finding
  /** 'unknown' to a role that may not look: its privileges can be checked, and nothing else. */
  state: 'current' | 'unknown' | 'other'
}

/** Whether the schema is the one of this axport, with all of its indexes. */
export async function checkSchema(db: Sql): Promise<SchemaState> {
  const [place] = await db<{ schema: string | null }[]>`select current_schema() as schema`
  if (place?.schema === null) return unknown('this role cannot use the schema: see its privileges')
  if ((await unreadable(db, 'schema_migrations')).length > 0)
    return unknown('this role cannot read schema_migrations: see its privileges')
  let ahead: string[] = []
  try {
    const difference = await compareSchema(db)
    const { missing } = difference
    if (missing.length > 0)
      return other(`behind by ${missing.length} (${missing.join(', ')}): run axport migrate`)
    ahead = difference.ahead
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return other(error.message)
  }
  const repairs = await lostIndexes(db)
  const finding =
    repairs.length === 0
      ? present(ahead)
      : wrong(
          'schema',
          'an index is missing or not valid, which makes requests slow: ' +
            repairs.map(({ statement }) => statement).join('; '),
        )
  return { finding, state: 'current' }
}

const present = (ahead: string[]): Finding =>
  ahead.length === 0
    ? ok('schema', 'current')
    : warning(
        'schema',
        `ahead by ${ahead.length} (${ahead.join(', ')}), from which this axport can serve: upgrade it`,
      )
const unknown = (detail: string): SchemaState => ({ finding: skipped('schema', detail), state: 'unknown' })
const other = (detail: string): SchemaState => ({ finding: wrong('schema', detail), state: 'other' })

/** Each index that is missing or not valid, with the statement that brings it back. */
async function lostIndexes(db: Sql): Promise<Index[]> {
  const rows = await db<{ name: string; isInvalid: boolean }[]>`
    select name, i.indexrelid is not null as "isInvalid"
    from unnest(${INDEXES.map(({ name }) => name)}::text[]) as name
    left join pg_index i on i.indexrelid = to_regclass(name)
    where not coalesce(i.indisvalid, false)`
  return rows.map(({ name, isInvalid }) => ({
    name,
    statement: isInvalid ? `reindex index ${name}` : statementOf(name),
  }))
}

interface Index {
  name: string
  statement: string
}

/** The indexes that the migrations make, besides those of constraints. */
const INDEXES: Index[] = MIGRATIONS.flatMap(({ sql }) =>
  [...sql.matchAll(/^create (?:unique )?index (\w+)[^;]*/gm)].map(([statement, name]) => ({
    name: name ?? '',
    statement: statement.replaceAll(/\s+/g, ' '),
  })),
)

function statementOf(name: string): string {
  return INDEXES.find(index => index.name === name)?.statement ?? ''
}

/** What makes pg_trgm work again, the index included that it took with it. */
export const TRIGRAM_REPAIR = `create extension pg_trgm; ${statementOf('export_people_names_key')}`
