import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Sql } from 'postgres'
import { importLines, importText, staleRecords, useDatabase } from './support/import.ts'
import { BACKENDS } from './support/service.ts'

setDefaultTimeout(120_000)

const people = [
  { type: 'organization', id: 1, name: 'o' },
  { type: 'product', id: 1, name: 'p' },
  { type: 'user', id: 1, name: 'u' },
]
const assessment = (id: number, name = 'n') => ({
  type: 'assessment',
  id,
  user_id: 1,
  organization_id: 1,
  product_id: 1,
  certified_at: '2026-03-01',
  parts: [
    { id: id + 1, name, certified_at: '2026-03-01', proctor_id: 1 },
    { id: id + 2, name, certified_at: '2026-03-01', proctor_id: 1 },
  ],
})
const assessments = (count: number, name?: string) =>
  Array.from({ length: count }, (_, index) => assessment(1000 + 10 * index, name))
const asText = (lines: object[]) => lines.map(line => JSON.stringify(line)).join('\n')

/** What a reader sees of an import, in one statement. */
async function seen(sql: Sql): Promise<string> {
  const [row] = await sql`
    select
      (select count(*) from assessments) as assessments,
      (select count(*) from assessment_parts) as parts,
      (select count(*) from export_records) as records,
      (select string_agg(distinct document::json -> 'results' -> 0 ->> 'assessment_name', ' ') from export_records) as names,
      (select string_agg(distinct name, ' ') from users) as users`
  return JSON.stringify(row)
}

describe.each(BACKENDS)('on %s', backend => {
  const database = useDatabase(backend)

  test('a reader sees the state before an import or the state after it, never one between', async () => {
    const { sql } = database
    await importLines(sql, ...people, ...assessments(300, 'old'))
    const before = await seen(sql)
    let isOver = false
    const reading = async () => {
      const states = new Set<string>()
      while (!isOver) states.add(await seen(sql))
      return states
    }
    // Also while the rows are on their way into the tables, which is when "loading" is told.
    const looks: Promise<string>[] = []
    const look = () => void looks.push(seen(sql))
    const importing = importText(
      sql,
      asText([
        { ...people[2], name: 'renamed' },
        ...assessments(600, 'new'),
        { type: 'assessment', id: 1000, deleted: true },
      ]),
      { halfway: look, onProgress: look },
    )
    const [result, states] = await Promise.all([importing.finally(() => (isOver = true)), reading()])
    expect(result).toMatchObject({ loaded: true })
    const after = await seen(sql)
    expect(after).not.toBe(before)
    expect(looks.length).toBeGreaterThan(3)
    for (const state of [...states, ...(await Promise.all(looks))]) expect([before, after]).toContain(state)
  })

  test('a transaction that began before an import sees one state all the time', async () => {
    const { sql } = database
    await importLines(sql, ...people, ...assessments(10))
    let importing: Promise<unknown> | undefined
    await sql.begin('isolation level repeatable read', async reader => {
      const first = await seen(reader as unknown as Sql)
      importing = importLines(sql, ...assessments(20, 'new'))
      // On Postgres it ends during this transaction; the embedded database lets it wait for its turn.
      if (backend === 'postgres') await importing
      expect(await seen(reader as unknown as Sql)).toBe(first)
    })
    expect(await importing).toMatchObject({ loaded: true, lines: 20 })
    expect(await staleRecords(sql)).toBeEmpty()
  })

  test('the second of two imports at once waits for the first and sees what it loaded', async () => {
    const { sql } = database
    let second: Promise<unknown> | undefined
    const events: string[] = []
    const first = importText(sql, asText([...people, ...assessments(50, 'first')]), {
      halfway: () => {
        // Refers to what only the first brings, and replaces some of it.
        second = importLines(sql, assessment(1000, 'second'), assessment(5, 'second')).finally(() =>
          events.push('second'),
        )
      },
    }).finally(() => events.push('first'))
    expect(await first).toMatchObject({ loaded: true, lines: 53 })
    expect(await second).toMatchObject({ loaded: true, lines: 2 })
    expect(events).toEqual(['first', 'second'])
    const names = await sql`select distinct name from assessment_parts where assessment_id in (5, 1000)`
    expect(names.map(row => row.name)).toEqual(['second'])
    expect(await sql`select id from assessments`).toHaveLength(51)
    expect(await staleRecords(sql)).toBeEmpty()
  })

  test('many imports at once all complete, and leave one of them whole', async () => {
    const { sql } = database
    await importLines(sql, ...people)
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
    const results = await Promise.all(names.map(name => importLines(sql, ...assessments(30, name))))
    expect(results).toMatchObject(names.map(() => ({ loaded: true, lines: 30 })))
    expect(await sql`select distinct name from assessment_parts`).toHaveLength(1)
    expect(await staleRecords(sql)).toBeEmpty()
  })

  test('an import that fails while another waits leaves nothing, and the other is loaded', async () => {
    const { sql } = database
    let second: Promise<unknown> | undefined
    const first = importText(sql, asText([...people, ...assessments(5), { type: 'user', id: 9 }]), {
      halfway: () => {
        second = importLines(sql, ...people, assessment(77))
      },
    })
    expect(await first).toMatchObject({ loaded: false, total: 1 })
    expect(await second).toMatchObject({ loaded: true, lines: 4 })
    expect((await sql`select id from assessments`).map(row => row.id)).toEqual(['77'])
  })

  test('an import whose source breaks off leaves nothing, and does not hold up the next', async () => {
    const { sql } = database
    const broken = importText(sql, asText([...people, ...assessments(5)]), {
      halfway: () => {
        throw new Error('the source broke off')
      },
    })
    expect(await broken.catch(error => String(error))).toContain('the source broke off')
    expect(await sql`select id from users`).toBeEmpty()
    expect(await importLines(sql, ...people)).toMatchObject({ loaded: true, lines: 3 })
  })
})
