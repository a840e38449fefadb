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
    const expected = `^export: wrong, ${found.replace('%s', 'all \\d+ records')}: axport refresh corrects them`
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
      'export: wrong, counts of organization 10 differ: axport refresh corrects them',
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
    expect(await detailOf(url, 'export')).toBe(
      '1000 of 1203 records, equal to their source; not every row was compared, axport doctor --full does that',
    )
    await sql`update export_records set seid = 'other' where id = 20777`
    expect(await badFindings(url, '--full')).toEqual([
      expect.stringMatching(/^export: wrong, 1 of all 1203 records differs .* as assessment 20777:/),
    ])
  })

  test('and with --full says that all was compared, though an erased proctor has no row', async () => {
    const { url } = await newHealthyDatabase()
    await succeed(url, 'erase', '77', '--yes')
    expect(await detailOf(url, 'export', '--full')).toBe('all 3 records, equal to their source')
  })

  test('but reports no difference for an assessment without parts, which is not exported', async () => {
    const { sql, url } = await newHealthyDatabase()
    await sql`delete from assessment_parts where id = 9002`
    expect(await badFindings(url)).toEqual([])
    expect(await badFindings(url, '--full')).toEqual([])
  })
})

describe('axport doctor asks of every integration whether it has a scope and a secret:', () => {
  test('one without is a warning that names what is missing, and the command succeeds', async () => {
    const { sql, url } = await newHealthyDatabase()
    await provision(sql)
    const empty = await provision(sql, [], [])
    const halfEmpty = await provision(sql, ['10'], [])
    const ended = await provision(sql)
    await sql`
      update integration_secrets s set expires_at = now() from integrations i
      where i.id = s.integration_id and i.client_id = ${ended.clientId}`
    const warned = ({ name, clientId }: typeof empty, lacks: string) =>
      `integrations: warning, ${name} (${clientId}) lacks ${lacks}: axport integration show ${clientId} says what to do`
    expect(await badFindings(url)).toEqual([
      warned(empty, 'organizations and products'),
      warned(halfEmpty, 'products'),
      warned(ended, 'a live secret'),
    ])
    expect((await diagnose({ DATABASE_URL: url })).line).toBeNull()
  })

  test('a disabled integration is not asked about', async () => {
    const { sql, url } = await newHealthyDatabase()
    expect(await detailOf(url, 'integrations')).toBe('none enabled: axport integration create NAME makes one')
    await provision(sql)
    const { clientId } = await provision(sql, [], [])
    await setDisabled(sql, clientId, true)
    expect(await badFindings(url)).toEqual([])
    expect(await detailOf(url, 'integrations')).toBe('1 enabled, each with a scope and a secret')
  })
})
