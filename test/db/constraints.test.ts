import { beforeAll, describe, expect, test } from 'bun:test'
import { useTestDatabase } from '../support/hooks.ts'
import { undone } from './source.ts'

/**
 * The constraints of the tables, which also hold for SQL of an operator: the values that are accepted and
 * refused.
 */

const db = useTestDatabase()
beforeAll(async () => {
  await db.sql.unsafe(`
    insert into organizations values (1, 'Lakeside'); insert into products values (1, 'Reading');
    insert into users (id, name) values (1, 'Ana'), (2, 'Pia');
    insert into assessments values (1, 1, 1, 1, now()), (2, 1, 1, 1, now());
    insert into assessment_parts values (1, 1, 1, null, null, 2), (11, 2, 1, 'One', now(), 2), (12, 2, 2, 'Two', now(), 2);
    insert into integrations (client_id, name) values ('known', 'Known');
    insert into integration_secrets (integration_id, digest) select id, sha256('secret') from integrations;
    insert into access_tokens (digest, secret_id, expires_at) values (sha256('token'), 1, now())`)
})

/**
 * The result of statements: "taken", or the constraint that refused them, or the column that cannot be null.
 */
const outcome = (statements: string): Promise<string> =>
  undone(db.sql, async sql => {
    try {
      await sql.unsafe(statements)
      return 'taken'
    } catch (error) {
      const { constraint_name, column_name, message } = error as Record<string, string>
      return constraint_name ?? column_name ?? message ?? ''
    }
  })

describe('a text', () => {
  const user = (column: string) => (text: string) => `update users set ${column} = ${text} where id = 1`
  const NAMES: [name: string, write: (text: string) => string, mayBeBlank: boolean][] = [
    ['organizations_name', text => `update organizations set name = ${text}`, false],
    ['products_name', text => `update products set name = ${text}`, false],
    ['users_name', user('name'), false],
    ['users_first_name', user('first_name'), true],
    ['users_last_name', user('last_name'), true],
    ['users_email', user('email'), true],
    ['users_seid', user('seid'), false],
    ['assessment_parts_name', text => `update assessment_parts set name = ${text} where id = 11`, false],
    ['integrations_name', text => `update integrations set name = ${text}`, false],
  ]

  test.each(NAMES)('in %s has at most 500 characters', async (name, write) => {
    expect(await outcome(write(`repeat('É', 500)`))).toBe('taken')
    expect(await outcome(write(`repeat('É', 501)`))).toBe(`${name}_length`)
  })

  test.each(NAMES)(
    'in %s is refused if it is blank and the column needs a value',
    async (name, write, mayBeBlank) => {
      const expected = mayBeBlank ? 'taken' : `${name}_not_blank`
      for (const blank of [`''`, `' '`, `E' \\t\\r\\n'`]) expect(await outcome(write(blank))).toBe(expected)
    },
  )
})

test('only columns that may be unknown can be null', async () => {
  const rows = await db.sql<{ name: string }[]>`
    select attrelid::regclass || '.' || attname as name
    from pg_attribute join pg_class c on c.oid = attrelid
    where relnamespace = 'public'::regnamespace and relkind = 'r' and attnum > 0 and not attisdropped
      and not attnotnull order by 1`
  expect(rows.map(row => row.name)).toEqual([
    'assessment_parts.certified_at',
    'assessment_parts.name',
    'disclosure_state.kept',
    'disclosures.address',
    'disclosures.filters',
    'disclosures.large_assessment_ids',
    'disclosures.large_user_ids',
    'export_records.seid',
    'export_state.last_import_at',
    'feeds.compared_at',
    'integration_history.by',
    'integration_history.purpose',
    'integration_secrets.expires_at',
    'integration_secrets.last_used_at',
    'integrations.contact',
    'integrations.disabled_at',
    'integrations.purpose',
    'schema_migrations.compatible_with',
    'users.seid',
  ])
})

test('columns have these defaults', async () => {
  const [row] = await undone(
    db.sql,
    sql => sql`
      with u as (insert into users (id, name) values (9, 'New') returning *),
        a as (insert into assessments (id, user_id, organization_id, product_id, certified_at)
          values (9, 1, 1, 1, now()) returning *),
        i as (insert into integrations (client_id, name) values ('new', 'New') returning *)
      select first_name, last_name, email, seid, record_status, legacy_record, time_zone, last_import_at,
        organization_ids, product_ids, all_organizations, all_products, disabled_at, i.created_at = now() as is_now
      from u, a, i, export_state`,
  )
  expect({ ...row }).toEqual({
    first_name: '',
    last_name: '',
    email: '',
    seid: null,
    record_status: 'active',
    legacy_record: false,
    time_zone: 'UTC',
    last_import_at: null,
    organization_ids: [],
    product_ids: [],
    all_organizations: false,
    all_products: false,
    disabled_at: null,
    is_now: true,
  })
})

test.each(['active', 'archived'])('a record status is accepted if it is %s', async status => {
  expect(await outcome(`update users set record_status = '${status}'`)).toBe('taken')
})

test('a record status is refused if it is neither active nor archived', async () => {
  expect(await outcome(`update users set record_status = 'other'`)).toBe('users_record_status_known')
})

describe.each([
  ['assessments', 1],
  ['assessment_parts', 11],
])('the time of completion in %s', (table, id) => {
  const certify = (instant: string) =>
    outcome(`update ${table} set certified_at = '${instant}' where id = ${id}`)

  test.each(['0001-12-31T00:00:00Z BC', '10000-01-01T23:59:59.999999Z'])('may be %s', async instant => {
    expect(await certify(instant)).toBe('taken')
  })

  test.each(['0001-12-30T23:59:59.999999Z BC', '10000-01-02T00:00:00Z', '-infinity', 'infinity'])(
    'cannot be %s, which has no form YYYY-MM-DD',
    async instant => {
      expect(await certify(instant)).toBe(`${table}_certified_at_printable`)
    },
  )
})

describe('a part', () => {
  const part = (values: string) => outcome(`insert into assessment_parts values (${values})`)
  const constraint = 'assessment_parts_describe_themselves_or_their_assessment'

  test('that describes its whole assessment has neither a name nor a day', async () => {
    for (const set of [`name = 'One'`, 'certified_at = now()', `name = 'One', certified_at = now()`])
      expect(await outcome(`update assessment_parts set ${set} where id = 1`)).toBe(constraint)
  })

  test('with an id of its own has a name and a day', async () => {
    expect(await part(`13, 2, 3, 'Three', now(), 2`)).toBe('taken')
    expect(await part('13, 2, 3, null, now(), 2')).toBe(constraint)
    expect(await part(`13, 2, 3, 'Three', null, 2`)).toBe(constraint)
    expect(await part('13, 2, 3, null, null, 2')).toBe(constraint)
  })

  test('has a unique position, and two parts can swap positions in one statement', async () => {
    expect(await part(`13, 2, 2, 'Three', now(), 2`)).toBe('assessment_parts_order')
    expect(await outcome('update assessment_parts set position = 3 - position where assessment_id = 2')).toBe(
      'taken',
    )
  })

  test('is deleted with its assessment', async () => {
    expect(await outcome('delete from assessments where id = 2')).toBe('taken')
  })
})

describe('a row that other rows refer to', () => {
  test.each([
    ['users where id = 1', 'assessments_user_id_fkey'],
    ['users where id = 2', 'assessment_parts_proctor_id_fkey'],
    ['organizations', 'assessments_organization_id_fkey'],
    ['products', 'assessments_product_id_fkey'],
  ])('cannot be deleted: delete from %s', async (rows, constraint) => {
    expect(await outcome(`delete from ${rows}`)).toBe(constraint)
  })

  test('is deleted with its secrets if it is an integration', async () => {
    const [left] = await undone(db.sql, async sql => {
      await sql`delete from integrations`
      return sql`select count(*)::int as secrets from integration_secrets`
    })
    expect({ ...left }).toEqual({ secrets: 0 })
  })
})

describe('an integration', () => {
  test.each([`''`, `'a b'`, `'a-b'`, `'é'`, `'a' || chr(10)`])(
    'has only letters and digits in its client id: %s is refused',
    async text => {
      expect(await outcome(`update integrations set client_id = ${text}`)).toBe(
        'integrations_client_id_alphanumeric',
      )
    },
  )

  test('stores both sets of its scope sorted and without duplicates, for any writer', async () => {
    // The numbers 1 to 1000 in steps of 7 modulo 1000, each of them twice.
    const shuffled = Array.from({ length: 2000 }, (_, n) => ((n * 7) % 1000) + 1)
    const [row] = await undone(
      db.sql,
      sql => sql`
        update integrations set organization_ids = ${shuffled}::bigint[] || null, product_ids = ${shuffled}::bigint[] || null
        returning organization_ids, product_ids`,
    )
    const ascending = Array.from({ length: 1000 }, (_, n) => String(n + 1))
    expect({ ...row }).toEqual({ organization_ids: ascending, product_ids: ascending })
  })

  test('has a unique client id', async () => {
    expect(await outcome(`insert into integrations (client_id, name) values ('known', 'Other')`)).toBe(
      'integrations_client_id_key',
    )
  })

  test.each([31, 33])('cannot have a digest of %i bytes for a secret or a token', async length => {
    const digest = `decode(repeat('00', ${length}), 'hex')`
    expect(await outcome(`update integration_secrets set digest = ${digest}`)).toBe(
      'integration_secrets_digest_is_sha256',
    )
    expect(await outcome(`update access_tokens set digest = ${digest}`)).toBe(
      'access_tokens_digest_is_sha256',
    )
  })
})

test('export_state has one row', async () => {
  expect(await outcome('insert into export_state default values')).toBe('export_state_pkey')
  expect(await outcome('insert into export_state (singleton) values (false)')).toBe('export_state_one_row')
})
