// Imports are killed by SIGKILL at random moments.
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import type { Sql } from 'postgres'
import { sampleNdjson } from '../../../src/sample/generate.ts'
import { axport, cleanUp, emptyFolder, start } from '../../support/executable.ts'
import { staleRecords } from '../../support/import.ts'
import { openTestDatabase } from '../../support/service.ts'
import { seed } from '../../support/tier.ts'
import { on } from '../support/operations.ts'
import { untilIdle } from './support/idle.ts'

setDefaultTimeout(10 * 60_000)
afterAll(cleanUp)

/**
 * One revision of the data: all names end in " v7", say, and `ids` are the ids of the assessments in ascending order.
 */
interface Revision {
  number: number
  file: string
  ids: number[]
  users: number
}

/** Calls `work` with a connection to the database at `url`, after the statements of a killed import have ended. */
async function inspect<Result>(url: string, work: (sql: Sql) => Promise<Result>): Promise<Result> {
  return await on(url, async sql => {
    await untilIdle(sql)
    return await work(sql)
  })
}

test('a killed import leaves either all former or all new data', async () => {
  const { url, close } = await openTestDatabase()
  await killImports(url, 1000, 4)
  await close()
})

/**
 * Imports one revision after the other. Each import is killed by SIGKILL at a random moment and then repeated. After
 * each kill the data must be one whole revision, and the read model must agree with the source tables. Every second
 * round begins with empty tables, for which the import uses another method.
 */
async function killImports(url: string, assessments: number, rounds: number): Promise<void> {
  const folder = emptyFolder()
  const lines = [...sampleNdjson({ assessments })].join('').trimEnd().split('\n')
  const revision = (number: number) => writeRevision(lines, number, join(folder, `${number}.ndjson`))
  const fromEmpty = await importWhole(url, revision(-1))
  let current = revision(0)
  const fromOther = await importWhole(url, current)
  const outcomes: string[] = []
  for (const [index, moment] of momentsOfKills(rounds).entries()) {
    const next = revision(index + 1)
    const isEmpty = index % 2 === 1
    if (isEmpty)
      await inspect(url, sql => sql`truncate organizations, products, users, assessments, assessment_parts`)
    const after = Math.round(moment * (isEmpty ? fromEmpty : fromOther))
    const wasKilled = await importAndKill(url, next, after)
    const former = isEmpty ? undefined : current.number
    const state = await inspect(url, sql => wholeState(sql, [current, next]))
    expect([former, next.number], `round ${index}; TEST_SEED=${seed} repeats the moments`).toContain(state)
    outcomes.push(`${wasKilled ? 'killed' : 'done'} at ${after}: ${state === former ? 'former' : 'new'}`)
    await importWhole(url, next)
    current = next
  }
  expect(await inspect(url, sql => wholeState(sql, [current]))).toBe(current.number)
  // If no import was killed before its commit, the test has shown nothing.
  expect(outcomes.join()).toMatch(/killed at \d+: former/)
}

/**
 * Returns random moments as shares of an import's duration: one in each of as many equal sections, in random order. So
 * some kills come before the commit with any seed. The first tenth of an import is the start of the process.
 */
function momentsOfKills(rounds: number): number[] {
  const sections = Array.from({ length: rounds }, (_, section) => section)
  const shuffled =
    fc.sample(fc.shuffledSubarray(sections, { minLength: rounds }), { numRuns: 1, seed })[0] ?? []
  const places = fc.sample(fc.double({ min: 0, max: 1, noNaN: true }), { numRuns: rounds, seed })
  return places.map((place, index) => 0.1 + (0.9 * ((shuffled[index] ?? 0) + place)) / rounds)
}

/** Writes a revision: all users are renamed, and every seventh assessment is left out, other ones for each number. */
function writeRevision(lines: string[], number: number, file: string): Revision {
  const ids: number[] = []
  let users = 0
  const changed = lines.map(line => {
    const record = JSON.parse(line) as { type: string; id: number; name?: string }
    if (record.type === 'user') {
      users++
      return JSON.stringify({ ...record, name: `${record.name} v${number}` })
    }
    if (record.type !== 'assessment') return line
    if ((record.id + number) % 7 === 0) return `{"type":"assessment","id":${record.id},"deleted":true}`
    ids.push(record.id)
    return line
  })
  writeFileSync(file, `${changed.join('\n')}\n`)
  return { number, file, ids: ids.sort((a, b) => a - b), users }
}

/** Imports a revision and returns the duration in milliseconds. */
async function importWhole(url: string, { file }: Revision): Promise<number> {
  const began = performance.now()
  const { code, stderr } = await axport(['import', file], { env: { DATABASE_URL: url }, timeoutMs: 300_000 })
  expect(code, stderr).toBe(0)
  return Math.round(performance.now() - began)
}

/** Returns whether the import was still running when it was killed. */
async function importAndKill(url: string, { file }: Revision, milliseconds: number): Promise<boolean> {
  const importing = await start(['import', file], { env: { DATABASE_URL: url } })
  await Promise.race([Bun.sleep(milliseconds), importing.finished])
  const wasRunning = importing.exitCode() === undefined
  importing.signal('SIGKILL')
  await importing.finished
  return wasRunning
}

/** The number of the revision in the database; undefined if the database is empty. Fails on a mixture of revisions. */
async function wholeState(sql: Sql, possible: Revision[]): Promise<number | undefined> {
  expect(await staleRecords(sql)).toEqual([])
  // A load into empty tables disables triggers and indexes for a while.
  expect(await sql`select tgname from pg_trigger where tgenabled = 'D'`).toHaveLength(0)
  expect(await sql`select indexrelid::regclass from pg_index where not indisvalid`).toHaveLength(0)
  const versions = await sql<{ number: number; users: number }[]>`
    select substring(name from ' v([0-9]+)$')::int as number, count(*)::int as users from users group by 1`
  const rows = await sql<{ id: string }[]>`select id from assessments order by id`
  const [version, ...others] = versions
  const { number, users, ids } = possible.find(one => one.number === version?.number) ?? { users: 0, ids: [] }
  expect({ others, users: version?.users ?? 0 }).toEqual({ others: [], users })
  expect(rows.map(({ id }) => Number(id))).toEqual(ids)
  return number
}
