import { beforeEach, describe, expect, test } from 'bun:test'
import { compareExport } from '../../src/doctor/export.ts'
import { erasePerson, removeTombstone } from '../../src/erasure/erase.ts'
import { refresh } from '../../src/tables/refresh.ts'
import { assessment, educator, multiPart, part, REFERENCED } from '../support/fixtures.ts'
import { importLines, useDatabase } from '../support/import.ts'
import { withoutTriggers } from '../support/without-triggers.ts'

/** The erased person. */
const GONE = 600

/** What writes the person past the triggers: an educator with an assessment, and a proctor of assessments of others. */
const BACK = `
  insert into users (id, name, first_name, last_name) values (600, 'Xenia N.', 'Xenia', 'Xeniason')
    on conflict (id) do update set name = excluded.name, first_name = excluded.first_name;
  insert into assessments (id, user_id, organization_id, product_id, certified_at)
    values (10, 600, 10, 1, '2026-03-01Z');
  insert into assessment_parts (id, assessment_id, position, proctor_id) values (10, 10, 0, 77);`

describe('an erased person whom a session without triggers writes again', () => {
  const database = useDatabase()
  beforeEach(async () => {
    const { sql } = database
    await sql`truncate erasures`
    await importLines(
      sql,
      ...[...REFERENCED, educator(GONE, { name: 'Xenia N.', first_name: 'Xenia' }), educator(2)],
      assessment(10, { user_id: GONE }),
      multiPart(40, [41, part(42, { proctor_id: GONE })], { user_id: 2 }),
      assessment(50, { proctor_id: GONE }),
      assessment(60),
    )
    await erasePerson(sql, String(GONE), { dryRun: false, onWait: () => {} })
    await withoutTriggers(sql, BACK)
  })

  /** The ids of exported records, and every name in them and in what a search reads. */
  async function exported() {
    const records = await database.sql<{ id: string; document: string }[]>`
      select id, document from export_records order by id`
    const people = await database.sql`select user_id, names_key from export_people order by 1`
    return {
      ids: records.map(({ id }) => Number(id)),
      mentions: JSON.stringify([records, people]).match(/xenia/gi) ?? [],
      proctors: records.flatMap(({ document }) =>
        JSON.parse(document).results.filter(({ proctor_id }: { proctor_id: number }) => proctor_id === GONE),
      ),
    }
  }

  test.each<[string, () => PromiseLike<unknown>]>([
    ['axport refresh', () => refresh(database.sql, () => {})],
    ['a change of the organization', () => database.sql`update organizations set name = 'New' where id = 10`],
    ['another time zone', () => database.sql`update export_state set time_zone = 'Asia/Tokyo'`],
    ['a change of the product', () => database.sql`update products set name = 'New' where id = 1`],
  ])('is not exported by %s', async (_, change) => {
    await change()
    const { ids, mentions, proctors } = await exported()
    expect({ ids, mentions }).toEqual({ ids: [40, 50, 60], mentions: [] })
    expect(proctors).toMatchObject([{ proctor_name: 'Erased person' }, { proctor_name: 'Erased person' }])
    expect((await compareExport(database.sql, true)).status).toBe('ok')
  })

  test('whose record was written with the person, is no longer exported after axport refresh', async () => {
    await withoutTriggers(
      database.sql,
      `insert into export_records
        select 10, organization_id, product_id, 600, seid, is_archived, legacy_record, proctor_ids, certified_on,
          user_name_key, proctor_name_key, product_name_key,
          '{"first_name":"Xenia","last_name":"","assessment_name":"","results":[]}' from export_records where id = 60;
      insert into export_people values (600, 'xenia')`,
    )
    await refresh(database.sql, () => {})
    expect(await exported()).toMatchObject({ ids: [40, 50, 60], mentions: [] })
  })

  test('is removed from the source tables by axport refresh', async () => {
    expect(await refresh(database.sql, () => {})).toEqual({
      erased: 1,
      records: 0,
      people: 0,
      products: 0,
      vacuumFailure: undefined,
    })
    expect(await database.sql`select from users where first_name = 'Xenia'`).toHaveLength(0)
    expect(await database.sql`select from assessments where user_id = ${GONE}`).toHaveLength(0)
    expect(await refresh(database.sql, () => {})).toMatchObject({ erased: 0 })
  })

  test('is removed by another axport erase', async () => {
    await erasePerson(database.sql, String(GONE), { dryRun: false, onWait: () => {} })
    expect(await database.sql`select from users where first_name = 'Xenia'`).toHaveLength(0)
    expect(await database.sql`select from assessments where user_id = ${GONE}`).toHaveLength(0)
  })

  test('is exported after axport erase --remove-tombstone', async () => {
    await removeTombstone(database.sql, String(GONE), () => {})
    const { ids, mentions, proctors } = await exported()
    expect(ids).toEqual([10, 40, 50, 60])
    expect(mentions.length).toBeGreaterThan(3)
    expect(proctors).toMatchObject([{ proctor_name: 'Xenia N.' }, { proctor_name: 'Xenia N.' }])
    expect((await compareExport(database.sql, true)).status).toBe('ok')
  })
})
