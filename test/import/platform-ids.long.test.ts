import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ImportOptions, ImportResult } from '../../src/import/result.ts'
import { codeUnder, DATA } from '../support/document.ts'
import { cleanUp } from '../support/executable.ts'
import { idsOf, staleRecords, useDatabase } from '../support/import.ts'
import { QUERIES, round, usePlatform } from '../support/platform-example.ts'
import { NO_ID } from '../support/wordings.ts'
import { folderOf } from './csv-files.ts'

afterAll(cleanUp)

const EXAMPLE = Object.fromEntries(
  readdirSync(QUERIES).map(file => [file, readFileSync(join(QUERIES, file), 'utf8')]),
) as Record<string, string>

/** The last block of SQL under a heading of docs/operate/data.md: an expression a line. */
const expressionsUnder = (heading: string) =>
  (codeUnder(heading, 'sql', DATA).at(-1) as string).trim().split('\n')

type Kind = 'user' | 'assessment' | 'part'

/** Queries that read ids by expressions of the columns of keys. */
const queriesWith = (idOf: (column: string, kind: Kind) => string): Record<string, string> => ({
  'users.sql': `
    select ${idOf('people.key', 'user')} as id, given || ' ' || family as name, given as first_name,
      family as last_name, mail as email, state_id as seid,
      case when left_on is null then 'active' else 'archived' end as record_status
    from people`,
  'assessments.sql': `
    select ${idOf('o.key', 'assessment')} as id, ${idOf('o.teacher_key', 'user')} as user_id, district_no as organization_id,
      rubric_no as product_id, finished_at as certified_at, from_old_system as legacy_record, null as proctor_id
    from observations o where state = 'complete' and removed_at is null`,
  'assessment_parts.sql': `
    select ${idOf('s.observation_key', 'assessment')} as assessment_id, ${idOf('s.key', 'part')} as id, label as name,
      seen_at as certified_at, ${idOf('s.observer_key', 'user')} as proctor_id, rank as position
    from stages s join observations o on o.key = s.observation_key
    where s.removed_at is null and o.state = 'complete' and o.removed_at is null`,
})

/** The reason against the first bad row. */
const reasonOf = (result: ImportResult) => (result.loaded ? 'it was loaded' : result.problems[0]?.reason)

describe('the documented queries', () => {
  const database = useDatabase()
  beforeEach(async () => {
    await database.sql`delete from feeds`
  })
  const load = (url: string, queries: Record<string, string>, options: ImportOptions = {}) =>
    round(database.sql, url, { queries: folderOf({ ...EXAMPLE, ...queries }), isFull: true }, options)

  /** Checks that the export has every complete assessment of the example, with all parts and people, and no other. */
  async function expectAll(result: ImportResult) {
    expect(reasonOf(result)).toBe('it was loaded')
    const tables = ['users', 'assessments', 'assessment_parts']
    expect(await Promise.all(tables.map(async table => (await idsOf(database.sql, table)).length))).toEqual([
      40, 180, 280,
    ])
    expect(await staleRecords(database.sql)).toBeEmpty()
  }

  describe('for tables with sequences of their own', () => {
    const platform = usePlatform()
    beforeEach(async () => {
      await platform.sql`update stages set stage_no = -stage_no`
      await platform.sql`
        update stages s set stage_no = 10 * n
        from (select stage_no, row_number() over (order by stage_no desc) as n from stages) as own
        where own.stage_no = s.stage_no`
    })
    /** The queries of the example with expressions for the ids of assessments and parts. */
    const queriesOf = (assessment: string, part: string) =>
      Object.fromEntries(
        ['assessments.sql', 'assessment_parts.sql'].map(file => [
          file,
          (EXAMPLE[file] as string)
            .replace(/o\.observation_no(?= as id)/, `o.${assessment}`)
            .replace(/s\.observation_no(?= as assessment_id)/, `s.${assessment}`)
            .replace(/s\.stage_no(?= as id)/, `s.${part}`),
        ]),
      )
    const [even = '', odd = ''] = expressionsUnder('Assessments and parts with the same numbers')
    const evenAndOdd = queriesOf(even, odd)

    test('load all rows with even and odd ids, and none with the numbers as they are', async () => {
      expect([even, odd]).toEqual(['observation_no * 2', 'stage_no * 2 + 1'])
      expect(reasonOf(await load(platform.url, {}))).toMatch(/^part \d+ has the id of (an|the) assessment/)
      await expectAll(await load(platform.url, evenAndOdd))
      expect((await idsOf(database.sql, 'assessments')).every(id => id % 2 === 0)).toBe(true)
    })

    test('may give all rows other ids, even those of parts to assessments, with --sync without a limit', async () => {
      const others = queriesOf('observation_no * 4 + 1', 'stage_no * 4')
      await expectAll(await load(platform.url, evenAndOdd))
      expect(reasonOf(await load(platform.url, others))).toMatch(
        /^assessment \d+ has the id of a part of assessment \d+$/,
      )
      expect(codeUnder('Other ids, later', 'sh', DATA)[0]).toContain('--sync --max-removed 100%')
      for (const queries of [others, evenAndOdd])
        await expectAll(await load(platform.url, queries, { sync: { percent: 100 } }))
    })
  })

  describe('for negative numbers', () => {
    const platform = usePlatform()
    const [mapping = ''] = expressionsUnder('Zero and negative numbers')
    const mapped = (file: string, of: string[]) =>
      of.reduce(
        (text, column) =>
          text.replace(new RegExp(`${column}(?=( end)? as)`), mapping.replaceAll('person_no', column)),
        EXAMPLE[file] as string,
      )

    test('load all rows with positive ids, and none with the numbers as they are', async () => {
      await platform.sql.begin(async sql => {
        await sql`set local session_replication_role = replica`
        for (const [table, column] of [
          ['people', 'person_no'],
          ['observations', 'teacher_no'],
          ['stages', 'observer_no'],
        ])
          await sql.unsafe(`update ${table} set ${column} = ${column} - 20`)
      })
      expect(reasonOf(await load(platform.url, {}))).toBe(`id ${NO_ID}`)
      const queries = {
        'users.sql': mapped('users.sql', ['person_no']),
        'assessments.sql': mapped('assessments.sql', ['o.teacher_no', 's.observer_no']),
        'assessment_parts.sql': mapped('assessment_parts.sql', ['s.observer_no']),
      }
      await expectAll(await load(platform.url, queries))
    })
  })

  describe('for uuids', () => {
    const platform = usePlatform()
    beforeEach(async () => {
      await platform.sql.unsafe(`
        drop table if exists axport_ids;
        drop function if exists number_key cascade;
        alter table people add if not exists key uuid not null unique default gen_random_uuid();
        alter table observations add if not exists key uuid not null unique default gen_random_uuid(),
          add if not exists teacher_key uuid;
        alter table stages add if not exists key uuid not null unique default gen_random_uuid(),
          add if not exists observation_key uuid, add if not exists observer_key uuid;
        update observations o set teacher_key = p.key from people p where p.person_no = o.teacher_no;
        update stages s set observation_key = o.key, observer_key = p.key
        from observations o, people p where o.observation_no = s.observation_no and p.person_no = s.observer_no`)
    })

    test('load all rows by a table of numbers, which triggers fill', async () => {
      await platform.sql.unsafe(codeUnder('Uuids and other texts', 'sql', DATA)[0] as string)
      const [expression = ''] = expressionsUnder('Uuids and other texts')
      const queries = queriesWith(column => expression.replace('people.key', column))
      await expectAll(await load(platform.url, queries))
      await platform.sql`insert into people (person_no, given, family) values (1000, 'New', 'Person')`
      expect(await load(platform.url, queries)).toMatchObject({
        summary: { users: { inserted: 1, updated: 0 } },
      })
      await platform.sql`delete from axport_ids where key = (select key from people where person_no = 1000)`
      expect(reasonOf(await load(platform.url, queries))).toBe('id is missing')
      await platform.sql`delete from people where person_no = 1000`
    })

    test('load all rows by the bits of an MD5, and refuse two keys of one round that get the same id', async () => {
      const [expression = ''] = expressionsUnder('Uuids where nothing can be written')
      expect(DATA).toContain('For assessments append `* 2`, for parts `* 2 + 1`')
      const appended = { user: '', assessment: ' * 2', part: ' * 2 + 1' }
      const queriesBy = (bits: string) =>
        queriesWith((column, kind) => bits.replace('people.key', column) + appended[kind])
      const queries = queriesBy(expression)
      await expectAll(await load(platform.url, queries))
      // Of five bits, forty people have to share.
      const few = expression.replace('1, 13', '1, 2').replace('bit(52)::bigint', 'bit(5)::bigint + 1')
      expect(few).toContain('1, 2))::bit(5)::bigint + 1')
      const { 'users.sql': users = '' } = queriesBy(few)
      expect(reasonOf(await load(platform.url, { ...queries, 'users.sql': users }))).toMatch(
        /^user \d+ differs from another row of users\.sql$/,
      )
    })
  })
})

test('the documented chance of a collision is the one of keys with 52 random bits', () => {
  const chances = [...DATA.matchAll(/([\d,]+) keys,? 1 in ([\d,]*\d)/g)].map(([, ...numbers]) =>
    numbers.map(number => Number(number.replaceAll(',', ''))),
  )
  expect(chances).toHaveLength(2)
  for (const [keys = 0, one = 0] of chances) {
    const chance = -Math.expm1((-keys * (keys - 1)) / 2 / 2 ** 52)
    expect(Math.abs(chance * one - 1)).toBeLessThan(0.02)
  }
})

describe('the documented grants', () => {
  const database = useDatabase()
  const platform = usePlatform()

  test('are enough to read the platform, and the error without each of them is the documented one', async () => {
    const { sql } = platform
    const [create = '', usage = '', select = ''] = (
      codeUnder('The role on the platform', 'sql')[0] as string
    ).split('\n')
    await sql`drop role if exists axport_reads`
    await sql.unsafe(create)
    await sql`alter role axport_reads password 'reads'`
    await sql`revoke usage on schema public from public`
    const url = new URL(platform.url)
    url.username = 'axport_reads'
    url.password = 'reads'
    const failure = (districts = 'districts') => {
      const organizations = `select district_no as id, title as name from ${districts}`
      const queries = folderOf({ ...EXAMPLE, 'organizations.sql': organizations })
      return round(database.sql, url.href, { queries }).then(
        () => 'it was loaded',
        (error: Error) => error.message,
      )
    }
    expect(await failure('public.districts')).toMatch(
      /: permission denied for schema public \(SQLSTATE 42501\)/,
    )
    expect(await failure()).toMatch(/: relation "districts" does not exist \(SQLSTATE 42P01\)/)
    await sql.unsafe(usage)
    expect(await failure()).toMatch(/: permission denied for table districts \(SQLSTATE 42501\)/)
    await sql.unsafe(select)
    expect(await failure()).toBe('it was loaded')
    await sql`drop owned by axport_reads`
    await sql`drop role axport_reads`
  })
})
