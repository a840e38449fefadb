import { afterAll, describe, expect, test } from 'bun:test'
import { setDisabled } from '../../src/integrations/lifecycle.ts'
import { badFindings, detailOf, diagnose, useHealthyDatabases } from '../support/doctor.ts'
import { cleanUp } from '../support/executable.ts'
import { provision, succeed } from '../support/operator.ts'
import { withoutTriggers } from '../support/without-triggers.ts'

afterAll(cleanUp)
const newHealthyDatabase = useHealthyDatabases()

describe('axport doctor finds a read model that differs from its source', () => {
  // Up to 1,000 records, the sample contains all of them.
  test.each([
    [
      'a change of a record',
      `update export_records set document = replace(document, 'Ana', 'Eve') where id = 9002`,
      '1 of %s differs from its source, as assessment 9002',
    ],
    [
      'a change of a column that only filters and sorts use',
      'update export_records set organization_id = 12 where id >= 9002',
      '2 of %s differ from their source, as assessment 9002',
    ],
    [
      'a change of the source without triggers',
      `update users set name = 'Ana María Ruiz' where id = 501`,
      '3 of %s differ from their source, as assessment 9001',
    ],
    [
      'the deletion of a record',
      'delete from export_records where id = 9001',
      '1 of %s differs from its source, as assessment 9001',
    ],
    [
      'the deletion of an assessment whose record is still exported',
      'delete from assessment_parts where id = 9002; delete from assessments where id = 9002',
      '1 of %s differs from its source, as assessment 9002',
    ],
  ])('after %s, and the advised command repairs it', async (_, statements, found) => {
    const { sql, url } = await newHealthyDatabase()
    await withoutTriggers(sql, statements)
    const expected = `^read model: wrong, ${found.replace('%s', 'all \\d+ records')}: axport refresh renders`
    for (const options of [[], ['--full']])
      expect(await badFindings(url, ...options)).toEqual([expect.stringMatching(new RegExp(expected))])
    await succeed(url, 'refresh')
    expect(await badFindings(url, '--full')).toEqual([])
  })

  test('if counts differ from the records, only with --full, and the advised command repairs it', async () => {
    const { sql, url } = await newHealthyDatabase()
    await withoutTriggers(sql, 'update export_counts set records = 7 where organization_id = 10')
    expect(await badFindings(url)).toEqual([])
    expect(await badFindings(url, '--full')).toEqual([
      'read model: wrong, 2 of 3 counts differ, of organization 10: axport refresh counts anew',
    ])
    await succeed(url, 'refresh')
    expect(await badFindings(url, '--full')).toEqual([])
  })

  test('if one of many records differs, certainly with --full; without --full only in a sample of 1,000', async () => {
    const { sql, url } = await newHealthyDatabase()
    await sql`
      insert into assessments (id, user_id, organization_id, product_id, certified_at)
      select id, 501, 10, 1, '2026-03-01Z' from generate_series(20001, 21200) as id`
    await sql`
      insert into assessment_parts (id, assessment_id, position, proctor_id)
      select id, id, 0, 77 from generate_series(20001, 21200) as id`
    await sql`vacuum (analyze) export_records`
    expect(await detailOf(url, 'read model')).toBe(
      '1000 of 1203 records, equal to their source; not every row was compared, axport doctor --full does that',
    )
    await sql`update export_records set seid = 'other' where id = 20777`
    expect(await badFindings(url, '--full')).toEqual([
      expect.stringMatching(/^read model: wrong, 1 of all 1203 records differs .* as assessment 20777:/),
    ])
  })

  test('but reports no difference for an assessment without parts, which is not exported', async () => {
    const { sql, url } = await newHealthyDatabase()
    await sql`delete from assessment_parts where id = 9002`
    await sql`vacuum (analyze) export_records`
    expect(await badFindings(url)).toEqual([])
    expect(await badFindings(url, '--full')).toEqual([])
  })
})

describe('axport doctor warns of statistics', () => {
  test('if they were never gathered', async () => {
    const { sql, url } = await newHealthyDatabase()
    await sql`update pg_class set reltuples = -1 where oid = 'export_records'::regclass`
    expect(await badFindings(url)).toEqual([
      'statistics: warning, export_records was never analyzed: vacuum (analyze) export_records',
    ])
  })

  test('if no page is marked as visible, until the advised command was run', async () => {
    const { sql, url } = await newHealthyDatabase()
    await sql`update export_records set document = document || ' '`
    await sql`update export_records set document = trim(document)`
    await sql`analyze export_records`
    const [finding = '', ...others] = await badFindings(url)
    expect(finding).toMatch(/^statistics: warning, only 0 % of export_records is marked visible/)
    expect(others).toEqual([])
    await sql.unsafe(/: (vacuum .*)$/.exec(finding)?.[1] ?? 'no advice')
    expect(await badFindings(url)).toEqual([])
    expect(await detailOf(url, 'statistics')).toBe('analyzed, 100 % marked visible')
  })
})

describe('axport doctor checks every integration:', () => {
  test('an integration that gets 401 is wrong, and one that waits for its scope is a note, with reasons and advice', async () => {
    const { sql, url } = await newHealthyDatabase()
    await provision(sql)
    const nothing = await provision(sql, [], [])
    const scope = (what: string) =>
      `400: it has no ${what}; axport integration scope ${nothing.clientId} --${what} …`
    const noSecret = await provision(sql)
    await sql`
      update integration_secrets s set expires_at = now() from integrations i
      where i.id = s.integration_id and i.client_id = ${noSecret.clientId}`
    expect(await badFindings(url)).toEqual([
      `integrations: note, ${nothing.name} (${nothing.clientId}) waits for its scope, and gets ${scope('organizations')}; ${scope('products')}`,
      `integrations: wrong, ${noSecret.name} (${noSecret.clientId}) gets 401: it has no live secret; axport integration rotate ${noSecret.clientId}`,
    ])
  })

  test('an integration whose scope has no records causes a warning, and the command succeeds', async () => {
    const { sql, url } = await newHealthyDatabase()
    const { name, clientId } = await provision(sql, ['12'], ['1'])
    expect(await badFindings(url)).toEqual([
      `integrations: warning, ${name} (${clientId}) gets nothing: no assessment of these organizations and products is in the database`,
    ])
    expect((await diagnose({ DATABASE_URL: url })).line).toBeNull()
  })

  test('an integration with a set given as "all" causes a warning if its scope lacks new data, until --add-new', async () => {
    const { sql, url } = await newHealthyDatabase()
    const { name, clientId } = await provision(sql, 'all', ['1'])
    expect(await badFindings(url)).toEqual([])
    await sql`insert into organizations select id, 'School ' || id from generate_series(21, 24) as id`
    await sql`insert into products values (5, 'New')`
    const scope = `axport integration scope ${clientId}`
    expect(await badFindings(url)).toEqual([
      `integrations: warning, ${name} (${clientId}) was given all organizations, and ` +
        '4 (21 School 21, 22 School 22, 23 School 23 and 1 more) were loaded since: ' +
        `${scope} --add-new adds them, and --organizations with a list ends this warning`,
    ])
    await succeed(url, 'integration', 'scope', clientId, '--add-new')
    expect(await badFindings(url)).toEqual([])
  })

  test('a disabled integration is not reported, even if its scope has faults', async () => {
    const { sql, url } = await newHealthyDatabase()
    await provision(sql)
    const { clientId, name } = await provision(sql, [], [])
    await setDisabled(sql, clientId, true)
    expect(await badFindings(url)).toEqual([])
    expect(await detailOf(url, 'integrations')).not.toContain(clientId)
    expect(await detailOf(url, 'integrations')).not.toContain(name)
    expect(await detailOf(url, 'integrations')).toBe('2, all able to work or disabled')
  })
})
