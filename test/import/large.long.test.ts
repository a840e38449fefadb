import { describe, expect, test } from 'bun:test'
import { openDatabase } from '../../src/database/database.ts'
import { renderRecords } from '../../src/import/render.ts'
import { undone } from '../db/source.ts'
import { assessment, multiPart, ndjsonOf, PROCTOR, REFERENCED, range, removal } from '../support/fixtures.ts'
import {
  everything,
  importLines,
  importText,
  partsOf,
  staleRecords,
  useDatabase,
  versionOf,
} from '../support/import.ts'
import { watchPlans } from '../support/plans.ts'
import { useRoles } from '../support/roles.ts'
import { until } from '../support/until.ts'
import { ASSESSMENTS, definitions, SAMPLE } from './large-load.ts'

describe('a bulk load', () => {
  const database = useDatabase()
  const newRole = useRoles()

  test('of an empty database restores indexes and foreign keys, and renders every record correctly', async () => {
    const { sql } = database
    const before = await definitions(sql)
    const version = await versionOf(sql)
    const phases = new Set<string>()
    const result = await importText(sql, SAMPLE, { onProgress: ({ phase }) => phases.add(phase) })
    expect(result).toMatchObject({ loaded: true, summary: { assessments: { inserted: ASSESSMENTS } } })
    expect([...phases]).toEqual([
      'reading',
      'queueing',
      'checking',
      'loading',
      'indexing',
      'rendering',
      'committed',
      'analyzing',
    ])
    expect(await definitions(sql)).toEqual(before)
    expect(await staleRecords(sql)).toBeEmpty()
    expect(await versionOf(sql)).not.toBe(version)
  })

  test('of an empty database renders records by a parallel plan', async () => {
    const { sql, takePlans, close } = await watchPlans(database.url)
    await sql`set max_parallel_workers_per_gather = 2`
    expect(await importText(sql, SAMPLE)).toMatchObject({ loaded: true })
    const parallel = takePlans().filter(({ nodes }) => nodes.includes('Gather'))
    await close()
    expect(parallel).toMatchObject([{ statement: expect.stringContaining('export_records_between') }])
    expect(await staleRecords(database.sql)).toBeEmpty()
  })

  test('renders every record once in several statements, without those of an erased educator and with erased proctors', async () => {
    const { sql } = database
    expect(await importText(sql, SAMPLE)).toMatchObject({ loaded: true })
    await undone(sql, async transaction => {
      await transaction`set local session_replication_role = replica`
      await transaction`insert into erasures (user_id) values (1001), (${PROCTOR})`
      await transaction`delete from export_records`
      await transaction`delete from export_counts`
      const progress: number[] = []
      await renderRecords(transaction, ASSESSMENTS, done => void progress.push(done), 7000)
      expect(progress).toEqual([0, 6668, 13_334, ASSESSMENTS])
      expect(await staleRecords(transaction)).toBeEmpty()
      expect(await transaction`select from export_records`).toHaveLength(ASSESSMENTS - 40)
      expect(
        await transaction`select from export_records where proctor_name_key <> 'erased person'`,
      ).toBeEmpty()
    })
  })

  test('of a dry run is rolled back completely', async () => {
    const { sql } = database
    const before = [await definitions(sql), await everything(sql)]
    const result = await importText(sql, SAMPLE, { dryRun: true })
    expect(result).toMatchObject({ loaded: true, summary: { assessments: { inserted: ASSESSMENTS } } })
    expect([await definitions(sql), await everything(sql)]).toEqual(before)
  })

  test('by a role that does not own the tables drops no indexes or keys, loads the same rows, and lets ids move between its first and last lines', async () => {
    const { sql, url } = database
    const role = await newRole()
    await sql.unsafe(`
      grant select, insert, update, delete on all tables in schema public to ${role.name};
      grant execute on all functions in schema public to ${role.name}`)
    // Their ids move between the first and the last lines, and between the first and the last rows that are written.
    const [first, last] = [1, 900_000]
    const stored = [multiPart(first, [2, 3]), multiPart(last, [5, 6]), assessment(7)]
    expect(await importLines(sql, ...REFERENCED, ...stored)).toMatchObject({ loaded: true })
    const before = await definitions(sql)
    const limited = await openDatabase(role.url(url), 2)
    const ends = [
      [multiPart(2, [6]), removal('assessment', 7)],
      [multiPart(last, [5, 3]), multiPart(first, [7])],
    ]
    const lines = ends.map(ndjsonOf).join(SAMPLE)
    expect(await importText(limited.sql, lines)).toMatchObject({ loaded: true })
    await limited.close()
    expect(await definitions(sql)).toEqual(before)
    const { 1: one, 2: two, 900000: three, ...sample } = await partsOf(sql)
    expect([one, two, three]).toEqual([[7], [6], [5, 3]])
    expect(Object.keys(sample)).toHaveLength(ASSESSMENTS)
    expect(await sql`select from export_records`).toHaveLength(ASSESSMENTS + 3)
    await sql.unsafe(`drop owned by ${role.name}`)
  })

  /** Runs a load until it writes its rows, after the step that drops indexes and keys. Then the load is rolled back. */
  async function expectToGoOn(): Promise<void> {
    const stopped = new Error('stopped')
    const onProgress = ({ phase }: { phase: string }) => {
      if (phase === 'loading') throw stopped
    }
    await expect(importText(database.sql, SAMPLE, { onProgress })).rejects.toBe(stopped)
  }

  test('goes on if a view depends on a key that would be dropped', async () => {
    const { sql } = database
    const before = await definitions(sql)
    await sql`create view people_of_ours as select u.id, u.name from users u join assessments a on a.user_id = u.id group by u.id`
    await expectToGoOn()
    await sql`drop view people_of_ours`
    expect(await definitions(sql)).toEqual(before)
  })

  test('does not wait for a reader whose transaction stays open', async () => {
    const { sql } = database
    const reader = await sql.reserve()
    await reader`begin`
    await reader`select count(*) from export_records`
    await expectToGoOn()
    await reader`commit`
    reader.release()
  })

  test('lets a concurrent writer lock a second table, without a deadlock, rejects the bad lines and loads all others', async () => {
    const { sql } = database
    const writer = await sql.reserve()
    await writer`begin`
    await writer`update users set name = name`
    const bad = range(100, at => assessment(900_000 + at, { product_id: 3 }))
    let rejects = 0
    const load = importText(sql, SAMPLE + ndjsonOf(bad), {
      onReject: () => void rejects++,
      maxRejected: { percent: 10 },
    })
    const isWaiting = async () => {
      const { count } = await sql`
        select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query ~ '^(alter table|select lock_export|select xmin)'`
      return count
    }
    // Before it waits, it has staged and checked everything.
    await until('the load waits for a lock', isWaiting, 60_000)
    // The load waits in the queue of writers, or holds the lock of assessments and waits for users.
    await writer`update assessments set legacy_record = true`
    await writer`commit`
    writer.release()
    expect(await load).toMatchObject({ loaded: true, summary: { assessments: { inserted: ASSESSMENTS } } })
    expect(rejects).toBe(bad.length)
    expect(await staleRecords(sql)).toBeEmpty()
  })
})
