import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import postgres, { type Sql } from 'postgres'
import { useTestDatabase } from '../support/hooks.ts'
import { idsOf, versionOf } from '../support/import.ts'
import { holds } from '../support/property.ts'
import { differences, START } from './source.ts'

/**
 * Compares the read model with its source after each statement. After any write to the source tables,
 * export_records must equal its view, and the version must have changed if and only if a list has changed.
 */

interface State {
  differences: string[]
  content: string
  /** What filters, sorts and searches look at. */
  lists: string
  version: string | undefined
}

const db = useTestDatabase()
/** One connection, because transactions are opened explicitly. */
let sql: Sql
beforeAll(async () => {
  sql = postgres(db.url, { max: 1, onnotice: () => {} })
})
afterAll(() => sql.end())

async function state(): Promise<State> {
  const [row] = await sql<{ content: string; lists: string }[]>`
    select coalesce(string_agg(md5(r::text), ' ' order by id), '') as content,
      coalesce(string_agg(md5(
        concat_ws('|', id, organization_id, product_id, user_id, seid, is_archived, legacy_record, proctor_ids, certified_on,
          user_name_key, proctor_name_key, product_name_key, names_key, name_key)
      ), ' ' order by id), '') as lists
    from export_records r left join export_people using (user_id) left join export_products using (product_id)`
  return {
    differences: await differences(sql),
    content: row?.content ?? '',
    lists: row?.lists ?? '',
    version: await versionOf(sql),
  }
}

/** This must hold between any two statements. */
const expectTrue = (now: State) => expect(now.differences).toEqual([])

/** The version changes if and only if the lists change, once in a transaction: from that of its start. */
function expectVersion(start: State, before: State, after: State): void {
  if (before.lists === after.lists) expect(after.version).toBe(before.version)
  else expect(after.version).not.toBe(start.version)
}

/**
 * Few ids, so that random statements hit the same rows. Ids of parts and assessments overlap, so that they
 * conflict.
 */
const USERS = [1, 2, 3, 4]
const PLACES = [1, 2, 3]
const ASSESSMENTS = [1, 2, 3, 4, 5, 6]
const PARTS = [3, 4, 5, 6, 11, 12, 13, 14]

const one = (ids: number[]) => fc.constantFrom(...ids)
const some = (ids: number[]) => fc.uniqueArray(one(ids), { minLength: 1, maxLength: 3 })
const text = fc.constantFrom(`'Ana'`, `'Bo'`, `'É\u0130'`, `'"\\'`, `'x'`, `name`)
const instant = fc.constantFrom(`'2024-03-10T05:00Z'`, `'2024-03-10T04:59:59.999999Z'`, 'now()')
const zone = fc.constantFrom('UTC', 'Pacific/Kiritimati', 'Pacific/Niue')

/** A template for statements with random values. */
function drawn(parts: TemplateStringsArray, ...holes: fc.Arbitrary<unknown>[]): fc.Arbitrary<string> {
  return fc.tuple(...holes).map(values => parts.reduce((all, part, at) => `${all}${values[at - 1]}${part}`))
}

const many = (row: fc.Arbitrary<string>) =>
  fc.array(row, { minLength: 1, maxLength: 4 }).map(rows => rows.join(', '))
const assessments = many(
  drawn`(${one(ASSESSMENTS)}, ${one(USERS)}, ${one(PLACES)}, ${one(PLACES)}, ${instant}, ${fc.boolean()})`,
)
const itself = one(ASSESSMENTS).chain(
  id => drawn`(${fc.constant(`${id}, ${id}, 1, null, null`)}, ${one(USERS)})`,
)
const separate = drawn`(${one(PARTS)}, ${one(ASSESSMENTS)}, ${one([1, 2, 3])}, 'Part', ${instant}, ${one(USERS)})`
const parts = many(fc.oneof(itself, separate))
const named = fc.constantFrom('organizations', 'products', 'users')
const assign = fc.oneof(
  drawn`user_id = ${one(USERS)}`,
  drawn`organization_id = ${one(PLACES)}, product_id = ${one(PLACES)}`,
  drawn`certified_at = ${instant}`,
  drawn`legacy_record = ${fc.boolean()}`,
  drawn`id = id + ${one([-1, 1, 3])}`,
)
const assignPart = fc.oneof(
  drawn`proctor_id = ${one(USERS)}`,
  drawn`name = name || '!'`,
  drawn`certified_at = certified_at + interval '1 day'`,
  drawn`assessment_id = ${one(ASSESSMENTS)}`,
  drawn`assessment_id = ${one(ASSESSMENTS)}, position = position + 3`,
  drawn`position = 3 - position`,
  drawn`id = id + ${one([-1, 1, 10])}`,
)
const replacement = (table: string, id: number) => `
  with gone as (delete from ${table} where id = ${id} returning id)
  insert into ${table} (id, name) select id, 'somebody else' from gone`
const self = 'name = coalesce(assessment_parts.name, excluded.name), proctor_id = excluded.proctor_id'

const statement = fc.oneof(
  // Statements about names and people.
  drawn`update ${named} set name = ${text} where id in (${some(USERS)})`,
  drawn`update users set seid = ${fc.constantFrom('null', `'12'`)}, record_status = ${fc.constantFrom(`'active'`, `'archived'`)} where id in (${some(USERS)})`,
  drawn`update users set first_name = ${text}, last_name = email where id in (${some(USERS)})`,
  drawn`insert into ${named} (id, name) values (${one(USERS)}, 'new'), (5, 'new') on conflict (id) do update set name = excluded.name || '?'`,
  drawn`update ${named} set id = id + ${one([1, 4])} where id in (${some(USERS)})`,
  drawn`delete from ${named} where id in (${some(USERS)})`,
  // Replaces a person by another one with the same id in one statement, so that no reference is ever broken.
  fc.tuple(named, one(USERS)).map(([table, id]) => replacement(table, id)),
  // Statements about assessments.
  { weight: 3, arbitrary: drawn`insert into assessments values ${assessments} on conflict do nothing` },
  drawn`insert into assessments values (${one(ASSESSMENTS)}, 1, 1, 1, now()) on conflict (id) do update set user_id = 2, organization_id = 3`,
  { weight: 3, arbitrary: drawn`update assessments set ${assign} where id in (${some(ASSESSMENTS)})` },
  drawn`update assessments set ${assign} where user_id = ${one(USERS)}`,
  { weight: 2, arbitrary: drawn`delete from assessments where id in (${some(ASSESSMENTS)})` },
  // Statements about parts.
  { weight: 4, arbitrary: drawn`insert into assessment_parts values ${parts} on conflict (id) do nothing` },
  drawn`insert into assessment_parts values ${parts}`,
  drawn`insert into assessment_parts values ${separate} on conflict (id) do update set ${fc.constant(self)}`,
  { weight: 4, arbitrary: drawn`update assessment_parts set ${assignPart} where id in (${some(PARTS)})` },
  drawn`update assessment_parts set ${assignPart} where assessment_id in (${some(ASSESSMENTS)})`,
  { weight: 2, arbitrary: drawn`delete from assessment_parts where id in (${some(PARTS)})` },
  drawn`delete from assessment_parts where assessment_id in (${some(ASSESSMENTS)})`,
  // Statements about several tables or with several events.
  drawn`with a as (insert into assessments values ${assessments}) insert into assessment_parts values ${parts}`,
  drawn`with u as (update users set name = 'both' where id in (${some(USERS)})) update assessments set ${assign} where id in (${some(ASSESSMENTS)})`,
  drawn`with gone as (delete from assessment_parts where id = ${one(PARTS)} returning *) insert into assessment_parts select id, assessment_id, position, name, certified_at, 1 from gone`,
  drawn`merge into assessments a using (values (${one(ASSESSMENTS)}), (${one(ASSESSMENTS)})) v (id) on a.id = v.id when matched and a.user_id = 1 then delete when matched then update set user_id = 1 when not matched then insert values (v.id, 1, 1, 1, now())`,
  // Statements about all rows.
  drawn`truncate ${fc.constantFrom('assessment_parts', 'assessments cascade', 'users cascade', 'products cascade')}`,
  drawn`update export_state set time_zone = ${zone.map(name => `'${name}'`)}`,
)

interface Transaction {
  statements: string[]
  end: 'commit' | 'rollback'
  deferred: boolean
}

const transaction: fc.Arbitrary<Transaction> = fc.record({
  statements: fc.array(statement, { minLength: 1, maxLength: 5, size: 'max' }),
  end: fc.constantFrom('commit', 'commit', 'commit', 'rollback'),
  deferred: fc.oneof(
    { weight: 3, arbitrary: fc.constant(false) },
    { weight: 1, arbitrary: fc.constant(true) },
  ),
})

/**
 * Allowed errors: a violated constraint, a row hit twice by one statement, a TRUNCATE with pending deferred
 * checks.
 */
const REFUSALS = /^(23...|21000|55006)$/

function requireRefusal(error: unknown, statement: string): void {
  const { code = '', message } = error as { code?: string; message: string }
  if (!REFUSALS.test(code)) throw new Error(`${code} ${message}: ${statement}`)
}

async function run({ statements, end, deferred }: Transaction): Promise<void> {
  const before = await state()
  await sql.unsafe(`begin${deferred ? '; set constraints all deferred' : ''}`)
  let last = before
  for (const statement of statements) {
    await sql.unsafe('savepoint here')
    await sql.unsafe(statement).catch(async error => {
      requireRefusal(error, statement)
      await sql.unsafe('rollback to savepoint here')
    })
    // Until such a transaction ends, two parts may have the same position, and their order is undefined.
    if (deferred) continue
    const now = await state()
    expectTrue(now)
    expectVersion(before, last, now)
    last = now
  }
  await sql.unsafe(end).catch(error => requireRefusal(error, end))
  const after = await state()
  expectTrue(after)
  if (end === 'rollback') expect(after).toEqual(before)
  if (after.lists !== before.lists) expect(after.version).not.toBe(before.version)
}

describe('the read model', () => {
  beforeEach(async () => {
    await sql.unsafe(START)
  })

  test('equals its source after every statement of any sequence, and every change increases its version', async () => {
    const property = fc.asyncProperty(
      fc.array(transaction, { minLength: 1, maxLength: 12, size: 'max' }),
      async transactions => {
        await sql.unsafe(START)
        for (const one of transactions) await run(one)
      },
    )
    await holds(property, { runs: 8, thorough: 20 })
  })

  async function expectFollows(statement: string): Promise<void> {
    const before = await state()
    await sql.unsafe(statement)
    const after = await state()
    expect(after.content).not.toBe(before.content)
    expectTrue(after)
    expectVersion(before, before, after)
  }

  test.each([
    ['a user', replacement('users', 2)],
    ['a proctor', replacement('users', 3)],
    ['an organization', replacement('organizations', 1)],
    ['a product', replacement('products', 1)],
    [
      'a product, by an update,',
      'with gone as (delete from products where id = 2 returning id) update products set id = gone.id from gone where products.id = 3',
    ],
    [
      'an organization, by a MERGE,',
      `merge into organizations o using (values (1), (10)) v (id) on o.id = v.id when matched then delete when not matched then insert values (1, 'Merged')`,
    ],
  ])(
    'follows if %s is deleted and another row with its id is inserted in one statement',
    async (_, statement) => {
      await expectFollows(statement)
    },
  )

  test.each([
    [
      'a part with the id of another assessment',
      `insert into assessment_parts values (3, 1, 9, 'Part', now(), 1)`,
    ],
    ['an assessment with the id of a part', `insert into assessments values (11, 1, 1, 1, now())`],
    ['a part that takes the id of an assessment', `update assessment_parts set id = 3 where id = 12`],
    ['an assessment that takes the id of a part', `update assessments set id = 12 where id = 3`],
    [
      'a part and an assessment of one id in one statement',
      `with a as (insert into assessments values (50, 1, 1, 1, now())) insert into assessment_parts values (50, 2, 9, 'Part', now(), 1)`,
    ],
  ])('refuses %s', async (_, statement) => {
    const before = await state()
    expect(await sql.unsafe(statement).catch(error => error)).toMatchObject({
      code: '23505',
      constraint_name: 'assessment_parts_id_of_no_other_assessment',
    })
    expect(await state()).toEqual(before)
  })

  test.each(['truncate users cascade', 'truncate products cascade', 'truncate assessments cascade'])(
    'follows %s',
    async statement => {
      await expectFollows(statement)
    },
  )

  test.each(['delete from users where id = 5', 'delete from products where id = 3'])(
    'removes the name of a deleted row: %s',
    async statement => {
      await sql`insert into users (id, name) values (5, 'Eve')`
      await sql.unsafe(statement)
      expectTrue(await state())
    },
  )

  test('has no record of an assessment without parts, before its first part and after its last one', async () => {
    const ids = () => idsOf(sql, 'export_records')
    expect(await ids()).toEqual([1, 2])
    await sql`insert into assessment_parts values (3, 3, 1, null, null, 1)`
    expect(await ids()).toEqual([1, 2, 3])
    await sql`delete from assessment_parts where id in (3, 11)`
    expect(await ids()).toEqual([1, 2])
    await sql`delete from assessment_parts where assessment_id = 2`
    expect(await ids()).toEqual([1])
    await sql`truncate assessment_parts`
    expect(await ids()).toEqual([])
  })

  test('has the parts in the order of their positions, also after two parts swapped positions', async () => {
    await expectFollows('update assessment_parts set position = 3 - position where assessment_id = 2')
    const [row] = await sql`select proctor_name_key, document from export_records where id = 2`
    expect(row?.proctor_name_key).toBe('di')
    expect(row?.document).toMatch(/"Two".*"One"/)
  })

  test.each([
    'update users set name = name',
    'insert into users (id, name) values (1, $$Ana$$) on conflict (id) do update set name = excluded.name',
    'update organizations set name = $$Nobody is here$$ where id = 3',
    'update assessments set user_id = 4 where id = 3',
    'delete from assessments where id = 3',
    'insert into assessments values (4, 1, 1, 1, now())',
    'with gone as (delete from assessment_parts where id = 1 returning *) insert into assessment_parts select * from gone',
  ])('keeps its version if no record has changed: %s', async statement => {
    const before = await state()
    await sql.unsafe(statement)
    expectTrue(before)
    expect(await state()).toEqual(before)
  })
})
