import fc from 'fast-check'
import type { Sql, TransactionSql } from 'postgres'
import { setTimeZone } from '../../../src/database/time-zone.ts'
import { importLines } from '../../support/import.ts'

/** Ids of the small platform below. The last organization is outside most scopes at the start. */
export const ORGANIZATIONS = [1, 2, 3, 4, 5, 6]
export const PRODUCTS = [1, 2, 3, 4]
/** Organizations without records: a scope with them is not read organization by organization. */
export const EMPTY = Array.from({ length: 20 }, (_, n) => 100 + n)

const NAMES = `array['Ana Ruiz', 'ana ruiz', 'Bo Ek', 'Élodie Roy', 'élodie roy', 'Zoë Ek', 'Öz', '李', 'O''Neil']`
const ZONES = ['UTC', 'Pacific/Kiritimati', 'Pacific/Niue', 'America/New_York']

/**
 * Replaces the data by `records` assessments with many ties in every sort key and with days that depend on
 * the time zone. If the number is odd, the table is not analyzed, so that the number of all records is
 * unknown.
 */
export async function reset(db: Sql, records: number): Promise<void> {
  await db.begin(async sql => {
    await sql.unsafe(`
      truncate organizations, products, users, assessments, assessment_parts;
      truncate integrations, access_tokens cascade;
      update export_state set time_zone = 'UTC';
      insert into organizations select n, 'Organization ' || n from unnest(array[${[...ORGANIZATIONS, ...EMPTY]}]) n;
      insert into products select n, case n when 3 then 'Lab' else 'Product ' || n % 3 end from generate_series(1, ${PRODUCTS.length}) n;
      insert into users
        select n, name, split_part(name, ' ', 1), split_part(name, ' ', 2), '', case n % 3 when 0 then null else 'S-' || n end,
          case n % 4 when 0 then 'archived' else 'active' end
        from (select n, (${NAMES})[n] as name from generate_series(1, 9) n) as named;
      insert into assessments select ${drawnAssessment('n * 10', 'n')} from generate_series(1, ${records}) n;
      insert into assessment_parts select n * 10, n * 10, 1, null, null, 1 + n * 5 % 9 from generate_series(1, ${records}) n`)
    if (records % 2 === 0) await sql`analyze export_records`
    else await sql`update pg_class set reltuples = -1 where oid = 'export_records'::regclass`
  })
}

/**
 * Adds people without records: a sample then finds that the letters "o", "e" and "1" are in most names. Their rows are wide,
 * so that few of them fill the hundreds of pages of which a hundredth is read.
 */
export const addPeople = (db: Sql) => db`
  insert into export_people select -n, rpad('eo 1', 600) || ${'\n\n'} from generate_series(1, 8000) as n`

/** The columns of an assessment, derived from a number. */
const drawnAssessment = (id: string, n: string) => `
  ${id}, 1 + ${n} * 7 % 9, 1 + ${n} % 6, 1 + ${n} / 3 % 4,
  timestamptz '2025-01-01 01:00Z' + ${n} % 13 * interval '1 day' + ${n} % 5 * interval '5 hours', ${n} % 7 = 0`

/** A change of the data: its kind, and three numbers that select the changed rows. */
export interface Write {
  kind: WriteKind
  a: number
  b: number
  c: number
}

/** The id of the n-th assessment, modulo their number. */
const nth = (n: string) =>
  `(select id from assessments order by id offset ${n}::integer % greatest(1, (select count(*) from assessments)) limit 1)`

/** The ids of the n-th assessment and up to 19 that follow. */
const several = (n: string, many: string) => `
  (select id from assessments order by id
   offset ${n}::integer % greatest(1, (select count(*) from assessments)) limit 1 + ${many}::integer % 20)`

const STATEMENTS = {
  insert: `
    with made as (
      insert into assessments
      select ${drawnAssessment('(1000 + $1::integer + n) * 10 + 1', '($2::integer + n)')}
      from generate_series(0, $3::integer % 12) n
      on conflict do nothing returning id
    )
    insert into assessment_parts select id, id, 1, null, null, 1 + $2::integer % 9 from made`,
  moveDay: `
    update assessments set certified_at = timestamptz '2025-01-01 00:30Z' + $2::integer % 20 * interval '1 day'
    where id in ${several('$1', '$3')}`,
  moveUser: `update assessments set user_id = 1 + $2::integer % 9 where id in ${several('$1', '$3')}`,
  moveOrganization: `update assessments set organization_id = 1 + $2::integer % 6 where id in ${several('$1', '$3')}`,
  moveProduct: `update assessments set product_id = 1 + $2::integer % 4 where id in ${several('$1', '$3')}`,
  legacy: `update assessments set legacy_record = not legacy_record where id in ${several('$1', '$2')} and $3::integer >= 0`,
  proctor: `update assessment_parts set proctor_id = 1 + $2::integer % 9 where assessment_id in ${several('$1', '$3')}`,
  secondPart: `
    insert into assessment_parts
    select id + 5, id, -1, 'Part', timestamptz '2025-01-01', 1 + $3::integer % 9
    from assessments a where id = ${nth('$1')} and $2::integer >= 0
      and not exists (select from assessment_parts p where p.id = a.id + 5)`,
  deleteOne: `delete from assessments where id = ${nth('$1')} and $2::integer >= 0 and $3::integer >= 0`,
  deleteSome: `delete from assessments where id in ${several('$1', '$2')} and $3::integer >= 0`,
  deleteParts: `delete from assessment_parts where assessment_id in ${several('$1', '$2')} and $3::integer >= 0`,
  renameUser: `
    update users set name = (${NAMES})[1 + $2::integer % 9] || case $3::integer % 2 when 0 then '' else ' II' end
    where id = 1 + $1::integer % 9`,
  describeUser: `
    update users set record_status = case $2::integer % 2 when 0 then 'active' else 'archived' end,
      seid = case $3::integer % 4 when 0 then null else 'S-' || $3::integer % 9 end
    where id = 1 + $1::integer % 9`,
  renameProduct: `
    update products set name = 'Product ' || $2::integer % 5 where id = 1 + $1::integer % 4 and $3::integer >= 0`,
  renameOrganization: `
    update organizations set name = 'Organization ' || $2::integer % 50 where id = 1 + $1::integer % 6 and $3::integer >= 0`,
  /** Changes in one organization, which is outside most of the small scopes. */
  within: `
    update assessments set user_id = 1 + (user_id + $2::integer) % 9, certified_at = timestamptz '2025-01-01' + $3::integer * interval '1 hour'
    where organization_id = 1 + $1::integer % 6 and id % 3 = 0`,
  /** Changes in an organization that no scope contains at the start. */
  elsewhere: `
    update assessments set user_id = 1 + $2::integer % 9, certified_at = timestamptz '2025-01-01' + $3::integer * interval '1 minute'
    where organization_id = 6 and id % 7 = $1::integer % 7`,
} as const

type WriteKind = keyof typeof STATEMENTS | 'together' | 'undone' | 'timeZone' | 'import' | 'truncate'

const statementKinds = Object.keys(STATEMENTS) as (keyof typeof STATEMENTS)[]

/** Any write. Writes that change every record, or empty the tables, are rare. */
export const anyWrite: fc.Arbitrary<Write> = fc.record({
  kind: fc.oneof(
    { weight: 40, arbitrary: fc.constantFrom<WriteKind[]>(...statementKinds) },
    { weight: 12, arbitrary: fc.constantFrom<WriteKind[]>('insert', 'within', 'elsewhere') },
    { weight: 6, arbitrary: fc.constantFrom<WriteKind[]>('together', 'undone', 'import') },
    { weight: 2, arbitrary: fc.constant<WriteKind>('timeZone') },
    { weight: 1, arbitrary: fc.constant<WriteKind>('truncate') },
  ),
  a: fc.nat(999),
  b: fc.nat(999),
  c: fc.nat(999),
})

/** Makes a write and returns after its commit, or after its rollback for `undone`. */
export async function write(db: Sql, { kind, a, b, c }: Write): Promise<void> {
  if (kind === 'timeZone') {
    await setTimeZone(db, ZONES[a % ZONES.length] ?? 'UTC')
  } else if (kind === 'import') {
    await importAgain(db, a, b, c)
  } else if (kind === 'truncate') {
    await db.begin(async sql => {
      await sql.unsafe(a % 2 ? 'truncate assessment_parts' : 'truncate assessments cascade')
      await sql.unsafe(STATEMENTS.insert, [a, b, 11])
    })
  } else if (kind === 'together') {
    await db.begin(sql => runThree(sql, a, b, c))
  } else if (kind === 'undone') {
    await undone(db, a, b, c)
  } else {
    await db.unsafe(STATEMENTS[kind], [a, b, c])
  }
}

/** Moves some records to another organization, within a transaction. */
export async function moveRecords(sql: TransactionSql, a: number, b: number, c: number): Promise<void> {
  await sql.unsafe(STATEMENTS.moveOrganization, [a, b, c])
}

/** Three statements in one transaction. Readers see only the state after the last. */
async function runThree(sql: TransactionSql, a: number, b: number, c: number): Promise<void> {
  for (const number of [a, b, c]) {
    const kind = statementKinds[number % statementKinds.length] ?? 'insert'
    await sql.unsafe(STATEMENTS[kind], [c, a, b])
  }
}

class Undone extends Error {}

/** Rolls back a whole transaction, or a part of one. */
async function undone(db: Sql, a: number, b: number, c: number): Promise<void> {
  const undo = async (sql: TransactionSql) => {
    await runThree(sql, a, b, c)
    throw new Undone()
  }
  const ignoreUndone = (error: unknown) => {
    if (!(error instanceof Undone)) throw error
  }
  if (a % 2) return await db.begin(undo).then(() => {}, ignoreUndone)
  await db.begin(async sql => {
    await sql.savepoint(undo).catch(ignoreUndone)
    await sql.unsafe(STATEMENTS.moveUser, [a, b, c])
  })
}

/** A nightly import: some lines are unchanged, some changed, new, or deletions. */
async function importAgain(db: Sql, a: number, b: number, c: number): Promise<void> {
  const ids = [...new Set([a, b, c, a + b, b + c].map(n => (1 + (n % 320)) * 10))]
  const [gone, ...kept] = ids
  await importLines(
    db,
    { type: 'user', id: 1 + (a % 9), name: 'Renamed by import', record_status: 'active' },
    { type: 'assessment', id: gone, deleted: true },
    ...kept.map(id => ({
      type: 'assessment',
      id,
      user_id: 1 + ((id + b) % 9),
      organization_id: 1 + ((id + c) % 6),
      product_id: 1 + (id % 4),
      certified_at: `2025-01-${String(1 + (b % 28)).padStart(2, '0')}`,
      proctor_id: 1 + (c % 9),
    })),
  )
}
